"""Small histories of a fenced register and of a lock: all of one size, and random ones aimed at the hard rules."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from checkers.history.records import Op, Outcome
from tests.support.brute_force import INITIAL, answered, fenced, operation, read, renumbered, write
from tests.support.linearizations import interval_structures

Kind = tuple[str, int] | None
"""The outcome and the token of a write; None: a read."""


def every_register_history(size: int, tokens: tuple[int, ...], step: int = 1) -> Iterator[tuple[Op, ...]]:
    """Every choice of operations, outcomes and answers in every interval structure; or each `step`th of them.

    Infos have no return, so those that differ only in it come once.
    """
    kinds: list[Kind] = [None, *itertools.product(("ok", "info", "stale"), tokens)]
    places = (
        (structure, chosen, answers)
        for structure in interval_structures(size)
        for chosen in itertools.product(kinds, repeat=size)
        if _infos_return_last(structure, chosen)
        for answers in _answers(chosen)
    )
    for structure, chosen, answers in itertools.islice(places, 0, None, step):
        yield _history(structure, chosen, answers)


def _infos_return_last(structure: tuple[tuple[int, int], ...], chosen: tuple[Kind, ...]) -> bool:
    returns = [returned for (_, returned), kind in zip(structure, chosen, strict=True) if _is_info(kind)]
    return returns == list(range(2 * len(chosen) - len(returns), 2 * len(chosen)))


def _is_info(kind: Kind) -> bool:
    return kind is not None and kind[0] == "info"


def _answers(chosen: tuple[Kind, ...]) -> Iterator[tuple[int | None, ...]]:
    """The possible results of the reads: for each, the place of the write; None: the initial value."""
    writes = [place for place, kind in enumerate(chosen) if kind is not None]
    return itertools.product([None, *writes], repeat=len(chosen) - len(writes))


def _history(
    structure: tuple[tuple[int, int], ...], chosen: tuple[Kind, ...], answers: tuple[int | None, ...]
) -> tuple[Op, ...]:
    left = iter(answers)
    operations = []
    for place, (kind, (called, returned)) in enumerate(zip(chosen, structure, strict=True)):
        if kind is None:
            of = next(left)
            wrote = None if of is None else chosen[of]
            pair = INITIAL if wrote is None else (f"v{of}", wrote[1])
            operations.append(read(place, pair, called, returned))
        else:
            operations.append(write(place, kind[1], called, returned, kind[0]))
    return tuple(operations)


def contended_history(rng: random.Random, *, strict: bool, fences: bool = False) -> tuple[Op, ...]:
    """Up to seven clients, each doing one thing after another, at a right register; then one thing is changed.

    Two or three tokens, 4 to 12 operations, many infos, many ties in time.
    """
    size = rng.randint(4, 12)
    operations = answered(rng, _asked(rng, size, fences=fences), strict=strict)
    change = rng.choice([_nothing, _one_outcome, _one_outcome, _two_reads, _one_moment])
    change(rng, operations)
    return renumbered(operations)


def late_write_history(rng: random.Random, *, strict: bool) -> tuple[Op, ...]:
    """What a right register accepted and returned, if it let one write pass at any time; half of them changed."""
    asked = _asked(rng, rng.randint(4, 10), fences=False)
    late = rng.choice([op for op in asked if op.f == "write"] or [None])
    operations = answered(rng, asked, strict=strict, passes=late)
    change = rng.choice([_nothing, _two_reads, _one_moment])
    change(rng, operations)
    operations = [op for op in operations if op.outcome is not Outcome.FAIL]
    if rng.random() < 0.5:
        seen = rng.choice(operations)
        called = rng.randint(seen.called, seen.called + 9)
        again = (seen.value, seen.token) if seen.f == "write" else INITIAL
        operations.append(read(len(asked), again, called, called + rng.randint(0, 3)))
    return renumbered(operations)


def one_level_history(rng: random.Random) -> tuple[Op, ...]:
    """Five or six operations, nearly all on one token, and a rejection below: who can have been first there?

    Often only a write that was called early could have caused it, and that one came later for certain.
    """
    size = rng.randint(5, 6)
    moments = sorted(sorted((rng.randint(0, 9), rng.randint(0, 9))) for _ in range(size))
    if rng.random() < 0.5:  # the rejection comes back early
        moments[1] = [moments[1][0], moments[1][0] + rng.randint(0, 1)]
    count = rng.randint(2, 3)
    writes = [
        write(
            index,
            2,
            moments[index][0],
            moments[index][1],
            "info" if index == 0 else rng.choice(["ok", "ok", "info"]),
        )
        for index in (0, *range(2, count + 1))
    ]
    refused = write(1, 1, moments[1][0], moments[1][1], "stale")
    reads = [read(index, (rng.choice(writes).value, 2), *moments[index]) for index in range(count + 1, size)]
    return renumbered([*writes, refused, *reads])


def _asked(rng: random.Random, size: int, *, fences: bool) -> list[Op]:
    """The clients' requests, and when they are sent: no client does two things at once."""
    tokens = rng.choice([(1, 2), (1, 2, 3), (0, 1, 2)])
    now = [rng.randint(0, 3) for _ in range(rng.randint(2, 7))]
    operations = []
    for index in range(size):
        client = rng.randrange(len(now))
        called = now[client] + rng.choice([0, 1, 1, 2])
        returned = called + rng.choice([0, 1, 1, 2, 3, 6])
        now[client] = returned + 1
        if rng.random() < 0.4:
            op = read(index, INITIAL, called, returned)
        else:
            outcome = rng.choice(["ok", "ok", "info"])
            op = write(index, rng.choice(tokens), called, returned, outcome)
        operations.append(fenced(op) if fences and op.f == "write" and rng.random() < 0.3 else op)
    return operations


def _nothing(_rng: random.Random, _operations: list[Op]) -> None:
    pass


def _one_outcome(rng: random.Random, operations: list[Op]) -> None:
    """An accepted write or fence was rejected, or the other way round."""
    known = [op for op in operations if op.f != "read" and op.outcome is not Outcome.INFO]
    if known:
        op = rng.choice(known)
        answer = "stale" if op.outcome is Outcome.OK else "ok"
        other = write(op.index, op.token, op.called, op.returned, answer)
        operations[op.index] = fenced(other) if op.f == "fence" else other


def _two_reads(rng: random.Random, operations: list[Op]) -> None:
    """Two reads got each other's answers."""
    reads = [op for op in operations if op.f == "read"]
    if len(reads) > 1:
        one, other = rng.sample(reads, 2)
        operations[one.index] = replace(one, value=other.value, token=other.token)
        operations[other.index] = replace(other, value=one.value, token=one.token)


def _one_moment(rng: random.Random, operations: list[Op]) -> None:
    """An operation was a little earlier or later."""
    op = rng.choice(operations)
    by = rng.choice([-3, -2, -1, 1, 2, 3])
    returned = None if op.returned is None else op.returned + by
    operations[op.index] = replace(op, called=op.called + by, returned=returned, learned=returned)


def lock_history(rng: random.Random) -> tuple[Op, ...]:
    """Acquires, renews, releases and revokes of a few owners, of every outcome, with ties in time."""
    horizon = rng.choice([10, 20, 40])
    operations = []
    for index in range(rng.randint(2, 9)):
        called, returned = sorted((rng.randint(0, horizon), rng.randint(0, horizon)))
        f = rng.choice(["acquire", "acquire", "acquire", "renew", "release", "revoke"])
        outcome = rng.choice([Outcome.OK, Outcome.OK, Outcome.OK, Outcome.FAIL, Outcome.INFO])
        granted = f == "acquire" and outcome is Outcome.OK
        op = operation(
            *(f, index, called, returned, outcome),
            index=index,
            learned=None,
            owner=rng.choice("abc"),
            token=rng.randint(0, 5) if granted else None,
            ttl=rng.choice([None, 3, 8]) if f in {"acquire", "renew"} else None,
            attempt=rng.choice([None, rng.randint(called, returned)]) if granted else None,
        )
        operations.append(op)
    if rng.random() < 0.5:
        operations = _with_rising_tokens(rng, operations)
    return renumbered(operations)


def _with_rising_tokens(rng: random.Random, operations: list[Op]) -> list[Op]:
    """Grants whose tokens rise with their returns, but for one now and then."""
    ordered = sorted(operations, key=lambda op: op.learned or op.returned or 0)
    return [
        op if op.token is None or rng.random() < 0.1 else replace(op, token=place)
        for place, op in enumerate(ordered)
    ]


def history_with_grants(rng: random.Random) -> tuple[Op, ...]:
    """A contended register, and grants of its tokens at any time."""
    operations = list(contended_history(rng, strict=False))
    for token in range(1, 4):
        called, returned = sorted((rng.randint(0, 12), rng.randint(0, 12)))
        index = len(operations)
        operations.append(
            operation(
                "acquire", index, called, returned, index=index, owner=f"{token}", token=token, learned=None
            )
        )
    return renumbered(operations)


def list_history(rng: random.Random, *, with_lists: bool = False) -> tuple[Op, ...]:
    """Reads of a list and appends to it, most of which read and write at one moment.

    `with_lists`: every append has the lists that it read and wrote.
    """
    horizon = rng.choice([6, 12, 20])
    asked, moments = [], []
    for index in range(rng.randint(2, 7)):
        called, returned = sorted((rng.randint(0, horizon), rng.randint(0, horizon)))
        outcome = rng.choice([Outcome.OK, Outcome.OK, Outcome.OK, Outcome.INFO, Outcome.FAIL])
        f = rng.choice(["append", "append", "read"])
        op = operation(f, index, called, returned, outcome, index=index, token=rng.randint(1, 3))
        asked.append(op if op.f == "append" else replace(op, outcome=Outcome.OK, returned=returned))
        found = rng.uniform(called, returned)
        late = 0 if rng.random() < 0.8 else rng.choice([1, 3])
        moments.append((found, min(found + late, returned) if outcome is not Outcome.INFO else found + late))
    operations = _appended(rng, asked, moments)
    return renumbered(operations if with_lists else [_forgotten(rng, op) for op in operations])


def _appended(rng: random.Random, asked: list[Op], moments: list[tuple[float, float]]) -> list[Op]:
    """What a right list answers to operations that read and write at these moments."""
    steps = sorted((moment, kind, op.index) for op in asked for kind, moment in enumerate(moments[op.index]))
    held: Any = ()
    operations = list(asked)
    for _, is_write, index in steps:
        op = operations[index]
        if op.f == "read":
            operations[index] = op if is_write else replace(op, value=held)
        elif not is_write:
            element = f"e{index}"
            operations[index] = replace(op, element=element, seen=held, value=(*held, element))
        elif op.outcome is Outcome.OK or (op.outcome is Outcome.INFO and rng.random() < 0.6):
            held = op.value
    return operations


def _forgotten(rng: random.Random, op: Op) -> Op:
    """An append without an ok: its client may not know which lists it read and wrote."""
    if op.f == "read" or op.outcome is Outcome.OK or rng.random() < 0.3:
        return op
    return replace(op, value=None, seen=op.seen if rng.random() < 0.5 else None)

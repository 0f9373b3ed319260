"""The definitions of a correct storage, as searches over every order: slow, plain and authoritative.

An order explains a history if it keeps real time, holds every operation whose
outcome is known and any of the writes that ended in info, and if a register
that takes the operations one by one would have answered what was recorded.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from checkers.history.records import Header, History, Op, Outcome

INITIAL = (None, 0)
FAR = 10**9


def explained_with_fences(operations: Sequence[Op], *, strict: bool, start: int = INITIAL[1]) -> bool:
    """Is there an order in which a fenced register gives the recorded answers?

    An ok `fence` operation leaves the mark at its token or above; a refused one met a mark above its
    token; strict: or at it. `start` is the token before the run.
    """

    def step(state: Any, op: Any) -> tuple[Any, ...] | None:
        value, token, mark = state
        if op.f == "read":
            return state if (op.value, op.token) == (value, token) else None
        if op.f == "fence" and op.outcome is Outcome.FAIL:
            return state if op.token < mark or (strict and op.token == mark) else None
        if op.f == "fence":
            return (value, token, max(mark, op.token))
        assert op.token is not None
        accepted = op.token > mark or (not strict and op.token == mark)
        if op.outcome is Outcome.FAIL:
            return None if accepted else state
        return (op.value, op.token, op.token) if accepted else None

    return _explained(_judged(operations), step, (INITIAL[0], start, start))


def explained_without_a_fence(operations: Sequence[Op]) -> bool:
    """Is there an order in which a register that accepts every write gives the recorded answers?"""

    def step(state: Any, op: Any) -> tuple[object, object] | None:
        if op.f == "read":
            return state if (op.value, op.token) == state else None
        return (op.value, op.token)

    return _explained([op for op in _judged(operations) if op.outcome is not Outcome.FAIL], step)


def _judged(operations: Sequence[Op]) -> list[Op]:
    """Info reads prove nothing, and a failure other than a rejection has no effect."""
    return [
        op
        for op in operations
        if not (op.f == "read" and op.outcome is not Outcome.OK)
        and not (op.outcome is Outcome.FAIL and op.error != "stale")
    ]


def _explained(operations: Sequence[Op], step: Any, initial: tuple[Any, ...] = INITIAL) -> bool:
    certain = frozenset(i for i, op in enumerate(operations) if op.outcome is not Outcome.INFO)
    seen = set()

    def search(done: frozenset[int], state: tuple[Any, ...]) -> bool:
        if certain <= done:
            return True
        if (done, state) in seen:
            return False
        seen.add((done, state))
        for i, op in enumerate(operations):
            if i in done or any(operations[j].precedes(op) for j in certain - done):
                continue
            after = step(state, op)
            if after is not None and search(done | {i}, after):
                return True
        return False

    return search(frozenset(), initial)


def random_register_history(rng: random.Random, *, rejections: bool = True) -> tuple[Op, ...]:
    """A small history aimed at the hard rules: few tokens, many infos, a wrong outcome or two.

    Half of them come from a simulated register, and then one answer is changed.
    """
    size = rng.randint(2, 7)
    moments = _intervals(rng, size)
    operations = []
    for i, (called, returned) in enumerate(moments):
        if rng.random() < 0.6:
            outcome = rng.choice(["ok", "ok", "info", "stale" if rejections else "ok"])
            op = write(i, rng.randint(0, 3), called, returned, outcome)
        else:
            op = read(i, INITIAL, called, returned)
        operations.append(op)
    written = [INITIAL, *((op.value, op.token) for op in operations if op.f == "write")]
    operations = [
        replace(op, value=pair[0], token=pair[1]) if op.f == "read" else op
        for op, pair in ((op, rng.choice(written)) for op in operations)
    ]
    if rng.random() < 0.6:
        right = answered(rng, operations, strict=rng.random() < 0.5)
        if rng.random() < 0.5:
            changed = rng.randrange(len(right))
            right[changed] = operations[changed]
        operations = right
    return renumbered(operations)


def answered(rng: random.Random, operations: list[Op], *, strict: bool, passes: Op | None = None) -> list[Op]:
    """The answers of a register, in some order that real time allows: a correct one, unless one write `passes`."""
    state: tuple[object, int | None] = INITIAL
    mark, answers = INITIAL[1], {}
    points = {op.index: rng.uniform(op.called, _latest(rng, op) + 0.5) for op in operations}
    for op in sorted(operations, key=lambda op: points[op.index]):
        if op.f == "read":
            answers[op.index] = replace(op, value=state[0], token=state[1])
            continue
        if op.f == "fence":
            assert op.token is not None
            is_low = op.token < mark or (strict and op.token == mark and rng.random() < 0.5)
            if is_low and op.outcome is not Outcome.INFO:
                answers[op.index] = replace(op, outcome=Outcome.FAIL, error="stale")
            mark = max(mark, op.token)
            continue
        assert op.token is not None
        accepted = op.token > mark or (not strict and op.token == mark) or op is passes
        if accepted and op.outcome is not Outcome.INFO:
            answers[op.index] = replace(op, outcome=Outcome.OK, error=None)
        elif op.outcome is not Outcome.INFO:
            answers[op.index] = replace(op, outcome=Outcome.FAIL, error="stale")
        if accepted:
            state, mark = (op.value, op.token), max(mark, op.token)
    return [answers.get(op.index, op) for op in operations]


def _latest(rng: random.Random, op: Op) -> int:
    """The latest moment of its effect: for an info, soon enough to be seen, or after everything."""
    return op.called + rng.choice([3, 10, FAR]) if op.returned is None else op.returned


def _intervals(rng: random.Random, size: int) -> list[tuple[int, int]]:
    """Closed intervals with many overlaps and ties."""
    horizon = rng.choice([size, 2 * size, 3 * size])
    pairs = [sorted((rng.randint(0, horizon), rng.randint(0, horizon))) for _ in range(size)]
    return [(called, returned) for called, returned in pairs]


def operation(
    f: str, process: int, called: int, returned: int | None, outcome: str = "ok", **fields: object
) -> Op:
    """An operation on r0; an info does not return, but its client learns of it then."""
    ended = None if outcome == "info" else returned
    made = Op(index=0, process=process, f=f, resource="r0", called=called, returned=ended, learned=returned)
    return replace(made, outcome=Outcome(outcome), **fields)


def write(index: int, token: int, called: int, returned: int, outcome: str = "ok") -> Op:
    """A write of a unique value; the outcome is ok, info or stale."""
    known, error = ("fail", "stale") if outcome == "stale" else (outcome, None)
    carried = {"token": token, "value": f"v{index}", "error": error, "lines": (2 * index + 2, 2 * index + 3)}
    return operation("write", index, called, returned, known, index=index, **carried)


def fenced(write_: Op) -> Op:
    """The fence operation with a write's token, interval and outcome."""
    return replace(write_, f="fence", value=None)


def read(index: int, pair: tuple[str | None, int], called: int, returned: int) -> Op:
    """An ok read of a value and its token."""
    answer = {"value": pair[0], "token": pair[1], "lines": (2 * index + 2, 2 * index + 3)}
    return operation("read", index, called, returned, index=index, **answer)


def renumbered(operations: Sequence[Op]) -> tuple[Op, ...]:
    """In the order of their calls, as a history has them."""
    ordered = sorted(operations, key=lambda op: op.called)
    return tuple(replace(op, index=index) for index, op in enumerate(ordered))


def history_of(operations: Sequence[Op], *, strict: bool = True, fenced: bool = True) -> History:
    """A history of these operations."""
    policy = "strict" if strict else "inclusive"
    header = Header(target="test", policy=policy, fenced=fenced)
    return History(header=header, operations=tuple(operations))

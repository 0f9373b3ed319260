"""Hundreds of small histories of every kind, from fixed seeds, for golden files of their findings.

Each kind is a function from its own random numbers to a case. Add a kind, or cases at the
end of one: existing cases keep their places.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from checkers.history.reader import parse
from checkers.history.records import Commit, Header, History, Op, Outcome
from tests.support import small_histories
from tests.support.broken_storages import KINDS
from tests.support.brute_force import history_of, random_register_history
from tests.support.simulation import Simulation
from tests.support.storage_runs import simulate

Commits = tuple[Commit, ...] | None


@dataclass(frozen=True, slots=True)
class Case:
    """A history to judge."""

    history: History
    commits: Commits = None


@dataclass(frozen=True, slots=True)
class Kind:
    """Cases of one kind."""

    make: Callable[[random.Random], Case]
    count: int

    def cases(self, name: str) -> Iterator[Case]:
        """The cases, always the same."""
        return (self.make(random.Random(f"{name} {number}")) for number in range(self.count))


def _with_lines(operations: Sequence[Op]) -> tuple[Op, ...]:
    """Each with the lines that a file of this history would have for it."""
    events = sorted(
        [(op.called, 0, op.index) for op in operations]
        + [(end, 1, op.index) for op in operations if (end := _end(op)) is not None]
    )
    lines: dict[int, list[int]] = {op.index: [] for op in operations}
    for line, (_, _, index) in enumerate(events, start=2):
        lines[index].append(line)
    return tuple(replace(op, lines=tuple(lines[op.index])) for op in operations)


def _end(op: Op) -> int | None:
    return op.returned if op.learned is None else op.learned


def _case(rng: random.Random, operations: Sequence[Op], **header: Any) -> Case:
    """Operations under a random header, except for the given fields."""
    plain = history_of(_with_lines(operations), strict=rng.random() < 0.5, fenced=rng.random() < 0.8)
    drawn = {"require": {"stale_writes_attempted": rng.choice([0, 0, 1])}} | header
    return Case(replace(plain, header=replace(plain.header, **drawn)))


def _broken(rng: random.Random, kind: str, *, with_log: bool = True) -> Case:
    run = simulate(rng, kind)
    return Case(run.history, run.commits if with_log else None)


def _two_resources(rng: random.Random, make: Callable[[random.Random], Case]) -> Case:
    """Two cases in one run, each on a separate resource, with their commits in one log."""
    one, other = make(rng), make(rng)
    while other.history.header != one.history.header:
        other = make(rng)
    moved = [
        replace(
            op,
            index=index,
            process=op.process + 1000,
            resource="r1",
            value=_moved(op.value),
            seen=_moved(op.seen),
            element=_moved(op.element),
        )
        for index, op in enumerate(other.history.operations, start=len(one.history.operations))
    ]
    both = sorted((*one.history.operations, *moved), key=lambda op: (op.called, op.index))
    numbered = [replace(op, index=index) for index, op in enumerate(both)]
    history = replace(one.history, operations=_with_lines(numbered))
    if one.commits is None or other.commits is None:
        return Case(history)
    left = list(one.commits)
    right = [replace(commit, resource="r1", value=_moved(commit.value)) for commit in other.commits]
    log: list[Commit] = []
    while left or right:
        log.append((left if left and (not right or rng.random() < 0.5) else right).pop(0))
    return Case(history, tuple(replace(commit, seq=seq) for seq, commit in enumerate(log, start=1)))


def _moved(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_moved, value))
    return f"{value} of r1" if isinstance(value, str) else value


def _of_any_storage(rng: random.Random) -> Case:
    return _broken(rng, rng.choice(KINDS))


def _contended(rng: random.Random, *, fences: bool) -> Case:
    return _case(rng, small_histories.contended_history(rng, strict=rng.random() < 0.5, fences=fences))


def _register(rng: random.Random) -> Case:
    return _case(rng, random_register_history(rng))


def _one_level(rng: random.Random) -> Case:
    return _case(rng, small_histories.one_level_history(rng))


def _lock(rng: random.Random) -> Case:
    return _case(rng, small_histories.lock_history(rng), grace=rng.choice([0, 2, 10]))


def _grants(rng: random.Random) -> Case:
    return _case(rng, small_histories.history_with_grants(rng))


def _list(rng: random.Random, *, with_lists: bool) -> Case:
    """A correct list, or one in which an answer went to another operation."""
    operations = list(small_histories.list_history(rng, with_lists=with_lists))
    answers = [op for op in operations if op.seen is not None or op.f == "read"]
    if answers and rng.random() < 0.6:
        one, other = rng.choice(answers), rng.choice(answers)
        seen: Any = other.value if other.f == "read" else other.seen
        if one.f == "read":
            operations[one.index] = replace(one, value=seen)
        else:
            operations[one.index] = replace(one, seen=seen, value=(*seen, one.element) if one.value else None)
    return _case(rng, operations, initial_value=(), fence_on_acquire=rng.random() < 0.5)


def _without_tokens(rng: random.Random, *, with_log: bool) -> Case:
    """Holders whose writes mostly carry no token, and a storage that accepts all of them."""
    operations: list[Op] = []
    effects: list[tuple[float, int]] = []
    for client in range(rng.randint(2, 4)):
        now, process = rng.randint(0, 6), client
        for hold in range(rng.randint(1, 2)):
            owner = f"{client}-{hold}"
            granted = rng.choice([4 * hold + client + 1, rng.randint(1, 9)])
            token = granted if rng.random() < 0.15 else None
            steps = ["acquire", *rng.choices(["write", "write", "read"], k=rng.randint(1, 3)), "release"]
            for f in steps:
                called = now + rng.choice([0, 1, 1, 2])
                learned = called + rng.choice([0, 1, 1, 2, 4])
                now = learned + rng.choice([0, 1])
                is_info = f != "read" and rng.random() < 0.12
                index = len(operations)
                operations.append(
                    Op(
                        index=index,
                        process=process,
                        f=f,
                        resource="r0",
                        called=called,
                        returned=None if is_info else learned,
                        learned=learned,
                        outcome=Outcome.INFO if is_info else Outcome.OK,
                        owner=None if f == "read" else owner,
                        token=token if f == "write" else granted if f == "acquire" and not is_info else None,
                        value=f"v{index}" if f == "write" else None,
                        ttl=rng.choice([None, 4, 9]) if f == "acquire" else None,
                        attempt=rng.choice([None, called]) if f == "acquire" and not is_info else None,
                    )
                )
                late = rng.choice([0, 0, 3]) if is_info else 0
                effects.append((rng.uniform(called, learned) + late, index))
                process += 10 * is_info
    commits: list[Commit] = []
    for _, index in sorted(effects):
        op = operations[index]
        last = commits[-1] if commits else Commit(seq=0, resource="r0", token=0)
        if op.f == "read":
            operations[index] = replace(op, value=last.value, token=last.token)
        elif op.f == "write" and (op.outcome is Outcome.OK or rng.random() < 0.6):
            commits.append(Commit(seq=last.seq + 1, resource="r0", token=op.token, value=op.value))
    ordered = sorted(operations, key=lambda op: (op.called, op.index))
    numbered = [replace(op, index=index) for index, op in enumerate(ordered)]
    header = Header(target="t", policy="inclusive", fenced=rng.random() < 0.3, require={})
    history = History(header=header, operations=_with_lines(numbered))
    return Case(history, tuple(commits) if with_log else None)


_RUNS: tuple[dict[str, Any], ...] = (
    {"policy": "strict"},
    {"policy": "inclusive", "sessions": True},
    {"policy": "strict", "fenced": False},
    {"policy": "inclusive", "fenced": False, "outages": True},
    {"policy": "inclusive", "failovers": 2},
    {"policy": "strict", "failovers": 2},
    {"policy": "inclusive", "appends": True},
    {"policy": "inclusive", "appends": True, "lag": 0.4},
    {"policy": "inclusive", "appends": True, "lag": 0.4, "fence_on_acquire": True},
    {"policy": "strict", "appends": True, "lag": 0.4, "outages": True},
    {"policy": "inclusive", "fence_on_acquire": True},
    {"policy": "strict", "early": 1500},
    {"policy": "inclusive", "early": 1500, "sessions": True, "slow": 0.15},
    {"policy": "strict", "forgetful": True},
    {"policy": "inclusive", "forgetful": True, "appends": True},
    {"policy": "strict", "stuck": True, "slow": 0},
    {"policy": "strict", "again": "same token", "ttls": (1000, 3000, 6000)},
    {"policy": "inclusive", "again": "new token", "ttls": (1000, 3000, 6000), "slow": 0.15},
    {"policy": "inclusive", "again": "same token", "early": 1500, "sessions": True},
    {"policy": "inclusive", "again": "new token", "early": 1500, "fenced": False},
)


def _simulated(rng: random.Random, *, with_log: bool) -> Case:
    """A short run of clients, locks with leases and a storage, correct or with a bug."""
    run = Simulation(seed=rng.randrange(1 << 30), end=rng.choice([4_000, 8_000]), **rng.choice(_RUNS))
    return Case(parse(run.lines()), tuple(run.commits()) if with_log else None)


GENERATED: dict[str, Kind] = {
    **{f"log: {kind}": Kind(partial(_broken, kind=kind), 75) for kind in KINDS},
    **{f"no log: {kind}": Kind(partial(_broken, kind=kind, with_log=False), 15) for kind in KINDS},
    "log: two resources": Kind(partial(_two_resources, make=_of_any_storage), 150),
    "no log: two locks": Kind(partial(_two_resources, make=_lock), 100),
    "no log: two lists": Kind(partial(_two_resources, make=partial(_list, with_lists=False)), 60),
    "log: without tokens": Kind(partial(_without_tokens, with_log=True), 100),
    "no log: without tokens": Kind(partial(_without_tokens, with_log=False), 60),
    "no log: register": Kind(_register, 150),
    "no log: contended register": Kind(partial(_contended, fences=False), 150),
    "no log: contended register with fences": Kind(partial(_contended, fences=True), 150),
    "no log: one level": Kind(_one_level, 60),
    "no log: locks": Kind(_lock, 250),
    "no log: grants and writes": Kind(_grants, 150),
    "no log: lists": Kind(partial(_list, with_lists=False), 120),
    "no log: lists with their contents": Kind(partial(_list, with_lists=True), 80),
    "log: simulated runs": Kind(partial(_simulated, with_log=True), 100),
    "no log: simulated runs": Kind(partial(_simulated, with_log=False), 60),
}
"""Every kind, by name."""

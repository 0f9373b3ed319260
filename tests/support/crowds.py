"""Several small runs merged into one run on several resources, without changing any of them."""

from __future__ import annotations

import random
from dataclasses import replace

from checkers.history.records import Commit, History, Op, Outcome, Value
from tests.support.broken_storages import KINDS
from tests.support.brute_force import operation
from tests.support.storage_runs import Run, simulate

_ELSEWHERE = 0.03  # of the commits: logged for another resource than they were sent to


def crowd(rng: random.Random, kind: str, most: int = 3) -> Run:
    """One run of up to `most` resources; the first's storage is of some kind, the others' are of any."""
    first = simulate(rng, kind)
    runs = [first, *(simulate(rng, rng.choice(KINDS)) for _ in range(rng.randrange(most)))]
    operations = [op for number, run in enumerate(runs) for op in _on(number, run, rng)]
    commits = _interleaved(
        rng, [[_moved(number, each) for each in r.commits] for number, r in enumerate(runs)]
    )
    names = [f"r{number}" for number in range(len(runs) + 1)]
    commits = [
        replace(each, resource=rng.choice(names)) if rng.random() < _ELSEWHERE else each for each in commits
    ]
    header = replace(first.history.header, initial_value=rng.choice([None, None, "before"]))
    if header.initial_value is not None:
        operations = [_as_read(op, header.initial_value) for op in operations]
        null = rng.choice([None, *(op.value for op in operations if op.f == "write")])  # a value as any other
        operations = [replace(op, value=None) if op.value == null else op for op in operations]
        commits = [replace(each, value=None) if each.value == null else each for each in commits]
    faults = next((run.history.faults for run in runs if run.history.faults), ())
    history = History(
        header=header, operations=_renumbered(operations), faults=faults, notices=first.history.notices
    )
    return Run(kind, history, tuple(replace(each, seq=seq) for seq, each in enumerate(commits, start=1)))


def _on(number: int, run: Run, rng: random.Random) -> list[Op]:
    """The operations of a run on a separate resource, and occasionally a grant."""
    operations = [
        replace(op, resource=f"r{number}", value=_renamed(number, op.value)) for op in run.history.operations
    ]
    return operations + [
        operation(
            *("acquire", 900 + place, called := rng.randint(0, 6), called + rng.choice([0, 1])),
            learned=called + 1,
            resource=f"r{number}",
            owner=f"{number}-{place}",
            token=rng.choice([1, 2, 3, None]),
        )
        for place in range(rng.randrange(3))
    ]


def _moved(number: int, commit: Commit) -> Commit:
    return replace(commit, resource=f"r{number}", value=_renamed(number, commit.value))


def _renamed(number: int, value: Value) -> Value:
    return value if value is None else f"{number}{value}"


def _as_read(op: Op, initial: Value) -> Op:
    is_read = op.f == "read" and op.outcome is Outcome.OK and op.value is None
    return replace(op, value=initial) if is_read else op


def _interleaved(rng: random.Random, logs: list[list[Commit]]) -> list[Commit]:
    """The commits of all resources, each resource's in its own order."""
    turns = [number for number, log in enumerate(logs) for _ in log]
    rng.shuffle(turns)
    left = [iter(log) for log in logs]
    return [next(left[number]) for number in turns]


def _renumbered(operations: list[Op]) -> tuple[Op, ...]:
    """In the order of the calls, with lines as a file of this history would have them."""
    ordered = sorted(operations, key=lambda op: (op.called, op.resource, op.index))
    events = sorted(
        [(op.called, 0, place) for place, op in enumerate(ordered)]
        + [(op.returned, 1, place) for place, op in enumerate(ordered) if op.returned is not None]
    )
    lines: dict[int, list[int]] = {}
    for line, (_, _, place) in enumerate(events, start=2):
        lines.setdefault(place, []).append(line)
    return tuple(replace(op, index=place, lines=tuple(lines[place])) for place, op in enumerate(ordered))

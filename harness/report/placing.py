"""The storage's order of accepted writes, placed in time.

The storage says in which order it accepted writes, not when. A write took
effect somewhere between its call and its return, so the order narrows each one
down: no earlier than any write before it was called, no later than any write
after it returned. It is drawn in the middle of what is left; several that are left the
same stretch share it evenly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.history import Commit, History, Op, Outcome, Value
from checkers.reading.appends import with_lists
from checkers.records import WRITES


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A write that the storage took. Times in ns."""

    seq: int | None  # None: no order of the storage's own; placed at the write's return
    resource: str
    token: int | None
    value: Value
    operation: int | None  # index of the write; None: nobody is known to have sent it
    at: int
    earliest: int
    latest: int


def accepted(history: History, commits: Sequence[Commit] | None) -> tuple[Accepted, ...]:
    """Every write that took effect: committed where the storage says so, else as clients saw it."""
    operations = with_lists(history, commits or ()).operations
    writes = [op for op in operations if op.f in WRITES]
    if commits is None:
        return tuple(_observed(op) for op in writes if op.outcome is Outcome.OK)
    sent = {(op.resource, op.value): op for op in writes}
    by_resource: dict[str, list[Commit]] = {}
    for commit in sorted((each for each in commits if not each.fence), key=lambda commit: commit.seq):
        by_resource.setdefault(commit.resource, []).append(commit)
    placed = (_placed(group, sent) for group in by_resource.values())
    return tuple(sorted(itertools.chain.from_iterable(placed), key=lambda write: write.at))


def _observed(write: Op) -> Accepted:
    returned = write.called if write.returned is None else write.returned
    return Accepted(
        seq=None,
        resource=write.resource,
        token=write.token,
        value=write.value,
        operation=write.index,
        at=returned,
        earliest=write.called,
        latest=returned,
    )


def _placed(commits: Sequence[Commit], sent: dict[tuple[str, Value], Op]) -> list[Accepted]:
    writes = [sent.get((commit.resource, commit.value)) for commit in commits]
    earliest = list(itertools.accumulate((_called(write) for write in writes), max))
    latest = list(itertools.accumulate((_returned(write) for write in reversed(writes)), min))[::-1]
    placed: list[Accepted] = []
    shares = _shares(list(zip(earliest, latest, strict=True)))
    at = 0
    for commit, write, low, high, (place, several) in zip(
        commits, writes, earliest, latest, shares, strict=True
    ):
        room = 0 if high == _NEVER else max(low, high) - low
        at = max(at, low + room * place // (several + 1))
        placed.append(
            Accepted(
                seq=commit.seq,
                resource=commit.resource,
                token=commit.token,
                value=commit.value,
                operation=None if write is None else write.index,
                at=at,
                earliest=low,
                latest=at if high == _NEVER else max(low, high),
            )
        )
    return placed


def _shares(stretches: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Of each, its place among the neighbours that are left the same stretch, and how many those are."""
    for _, group in itertools.groupby(stretches):
        several = len(list(group))
        yield from ((place, several) for place in range(1, several + 1))


_NEVER = 2**63 - 1


def _called(write: Op | None) -> int:
    return 0 if write is None else write.called


def _returned(write: Op | None) -> int:
    return _NEVER if write is None or write.returned is None else write.returned

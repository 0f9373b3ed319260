"""The commit log operation by operation: matched once more, without columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from checkers.facts.evidence import Evidence
from checkers.history.commit_log import Entry
from checkers.history.memoized import memoized
from checkers.history.records import WRITES, Commit, Op, Outcome, Value


@memoized
def object_log(evidence: Evidence) -> ObjectLog | None:
    """The log of some evidence."""
    if evidence.log is None:
        return None
    entries = _matched(evidence.named(*WRITES, "fence"), [each.commit for each in evidence.log.entries])
    return ObjectLog.of(_with_neighbours(entries), has_fences=evidence.log.has_fences)


def lost_its_token(entry: Entry) -> bool:
    """Was it stored without a token, though no client sent it there without one?"""
    commit = entry.commit
    return commit.token is None and not commit.fence and not entry.fits and not entry.was_sent_elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectLog:
    """The storage's own order of accepted writes and fences: complete, and matched to the history."""

    entries: tuple[Entry, ...]
    of_resource: Mapping[str, tuple[Entry, ...]]
    of_operation: Mapping[int, tuple[Entry, ...]]  # by the index of `Entry.op`
    has_fences: bool  # does the storage log its fences?

    @classmethod
    def of(cls, entries: Iterable[Entry], *, has_fences: bool) -> ObjectLog:
        """A log of these places."""
        entries = tuple(entries)
        of_resource: dict[str, list[Entry]] = defaultdict(list)
        of_operation: dict[int, list[Entry]] = defaultdict(list)
        for entry in entries:
            of_resource[entry.commit.resource].append(entry)
            of_operation[entry.op.index].append(entry)
        return cls(
            entries=entries,
            of_resource={name: tuple(each) for name, each in of_resource.items()},
            of_operation={index: tuple(each) for index, each in of_operation.items()},
            has_fences=has_fences,
        )

    def places(self, op: Op) -> tuple[int, ...]:
        """The places of an operation; none if it did not take effect there."""
        return tuple(entry.place for entry in self.of_operation.get(op.index, ()))

    def numbers(self, op: Op) -> list[int]:
        """The numbers that the storage gave to an operation."""
        return [entry.commit.seq for entry in self.of_operation.get(op.index, ())]

    def unmatched_of(self, resource: str) -> tuple[Entry, ...]:
        """The commits of a resource that no client sent there as they were stored."""
        return tuple(each for each in self.of_resource.get(resource, ()) if not each.fits)

    @property
    def unmatched(self) -> Iterator[Entry]:
        """The commits that no client sent as they were stored."""
        return (each for each in self.entries if not each.fits)

    @property
    def stored_elsewhere(self) -> frozenset[int]:
        """The indexes of the writes in the log of another resource than they were sent to."""
        moved = (each.sent for each in self.entries if each.sent is not None and each.was_sent_elsewhere)
        return frozenset(write.index for write in moved if write.index not in self.of_operation)


def _matched(operations: Iterable[Op], commits: Iterable[Commit]) -> list[Entry]:
    """Find the write or fence of each commit."""
    written: dict[Value, Op] = {}
    fenced: dict[tuple[str, int | None], Op] = {}
    for op in operations:
        if op.f in WRITES:
            written[op.value] = op
        else:
            other = fenced.setdefault((op.resource, op.token), op)
            if other.outcome is Outcome.FAIL is not op.outcome:  # one that was not refused may have been it
                fenced[op.resource, op.token] = op
    return [
        Entry(
            place=place,
            commit=commit,
            sent=fenced.get((commit.resource, commit.token)) if commit.fence else written.get(commit.value),
        )
        for place, commit in enumerate(commits)
    ]


def _with_neighbours(entries: Iterable[Entry]) -> Iterator[Entry]:
    entries = tuple(entries)
    near: dict[str, Op] = {}
    for entry in reversed(entries):
        if entry.fits:
            near[entry.commit.resource] = entry.op
    anywhere = next(iter(near.values()), None)
    for entry in entries:
        if entry.fits:
            near[entry.commit.resource] = entry.op
            yield entry
        else:
            resource = entry.commit.resource if entry.sent is None else entry.sent.resource
            nearest = near.get(resource, anywhere)
            is_itself = nearest is not None and entry.sent is not None and nearest.index == entry.sent.index
            yield replace(entry, near=None if is_itself else nearest)

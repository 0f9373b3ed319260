"""The storage's own order of accepted writes and fences, matched to the history of the clients.

A commit *fits* if a client sent that value to that resource with that token; a fence fits
if a client fenced that resource with that token. The log speaks for the run, so one that is
handed in and of which nothing fits is that of another run and is refused. The log in a run's
own folder is evidence, whatever fits of it.

Single commits that do not fit contradict what the clients say they sent:

- no client sent the value there: the log has it, and the history has no such write;
- the value was sent with another token: the write took effect, but not as it was sent. One
  that was sent with a token and is logged without one got past the fence.

Such a commit is *unmatched*. It took effect like any other: it raised the mark to the token
that the log has, and keeps its place in the log. A write whose token got lost on the way
is one of the token that it was sent with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from checkers.errors import HistoryError, as_recorded
from checkers.history.records import WRITES, Commit, Op, Outcome, Value

UNRECORDED = -(1 << 62)
"""The index of the first unrecorded write: below that of every operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One place of the log."""

    place: int  # among all commits of the log
    commit: Commit
    sent: Op | None  # by a client: the write of this value, wherever to, or the fence with this token
    near: Op | None = None  # if unmatched: a write that fits the log, if possible the one before it there

    @property
    def fits(self) -> bool:
        """Was it sent there as it was stored?"""
        return self.sent is not None and (self.sent.resource, self.sent.token) == (
            self.commit.resource,
            self.commit.token,
        )

    @property
    def lost_its_token(self) -> bool:
        """Was it stored without a token, though no client sent it there without one?"""
        commit = self.commit
        return commit.token is None and not commit.fence and not self.fits and not self.was_sent_elsewhere

    @property
    def was_sent_elsewhere(self) -> bool:
        """Did a client send it to another resource?"""
        return self.sent is not None and self.sent.resource != self.commit.resource

    @property
    def accused(self) -> Op:
        """The write as it was sent; for a value that no client sent, an unrecorded one."""
        return self.op if self.sent is None else self.sent

    @property
    def token(self) -> int | None:
        """The token that was stored; of a write that lost its token on the way, the one it was sent with."""
        if self.commit.token is None and self.sent is not None and not self.was_sent_elsewhere:
            return self.sent.token
        return self.commit.token

    @property
    def op(self) -> Op:
        """The operation as it was stored there: with the logged token, and possibly no client."""
        commit = self.commit
        if self.sent is not None and not self.was_sent_elsewhere:
            return self.sent if self.token == self.sent.token else replace(self.sent, token=self.token)
        return Op(
            index=UNRECORDED + self.place,
            process=-1,
            f="fence" if commit.fence else "write",
            resource=commit.resource,
            called=0,
            token=commit.token,
            value=commit.value,
        )

    @property
    def is_of_nobody(self) -> bool:
        """Did no client send it there, so that its time of sending is unknown?"""
        return self.sent is None or self.was_sent_elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLog:
    """The storage's own order of accepted writes and fences: complete, and matched to the history."""

    entries: tuple[Entry, ...]
    of_resource: Mapping[str, tuple[Entry, ...]]
    of_operation: Mapping[int, tuple[Entry, ...]]  # by the index of `Entry.op`
    has_fences: bool  # does the storage log its fences?
    moved: Mapping[int, tuple[Entry, ...]]  # what was sent elsewhere, by the index of its write

    @classmethod
    def of(cls, entries: Iterable[Entry], *, has_fences: bool) -> CommitLog:
        """A log of these places."""
        entries = tuple(entries)
        of_resource: dict[str, list[Entry]] = defaultdict(list)
        of_operation: dict[int, list[Entry]] = defaultdict(list)
        moved: dict[int, list[Entry]] = defaultdict(list)
        for entry in entries:
            of_resource[entry.commit.resource].append(entry)
            of_operation[entry.op.index].append(entry)
            if entry.sent is not None and entry.was_sent_elsewhere:
                moved[entry.sent.index].append(entry)
        return cls(
            entries=entries,
            of_resource={name: tuple(each) for name, each in of_resource.items()},
            of_operation={index: tuple(each) for index, each in of_operation.items()},
            has_fences=has_fences,
            moved={index: tuple(each) for index, each in moved.items()},
        )

    @property
    def fits(self) -> bool:
        """Was anything in it sent as it was stored?"""
        return any(entry.fits for entry in self.entries)

    def places(self, op: Op) -> tuple[int, ...]:
        """The places of an operation; none if it did not take effect there."""
        return tuple(entry.place for entry in self.of_operation.get(op.index, ()))

    def numbers(self, op: Op) -> list[int]:
        """The numbers that the storage gave to an operation."""
        return [entry.commit.seq for entry in self.of_operation.get(op.index, ())]

    def unmatched_of(self, resource: str) -> tuple[Entry, ...]:
        """The commits of a resource that no client sent there as they were stored."""
        return tuple(each for each in self.of_resource.get(resource, ()) if not each.fits)

    def only(self, indexes: AbstractSet[int]) -> CommitLog:
        """The log as if only these operations had taken effect."""
        left = [each for index in indexes for each in self.of_operation.get(index, ())]
        left += [each for index in indexes for each in self.moved.get(index, ())]
        by_place = {each.place: each for each in left}
        return CommitLog.of((by_place[place] for place in sorted(by_place)), has_fences=self.has_fences)

    def sent_last_before(self, write: Op) -> Op | None:
        """The operation before a write on its resource that was sent last."""
        first = self.of_operation[write.index][0].place
        before = (each for each in self.of_resource[write.resource] if each.place < first)
        return max((e.op for e in before if not e.is_of_nobody), key=lambda op: op.called, default=None)

    @property
    def unsent(self) -> int:
        """The number of commits that no client sent."""
        return sum(entry.sent is None for entry in self.entries)

    @property
    def unmatched(self) -> Iterator[Entry]:
        """The commits that no client sent as they were stored."""
        return (each for each in self.entries if not each.fits)

    @property
    def stored_elsewhere(self) -> frozenset[int]:
        """The indexes of the writes in the log of another resource than they were sent to."""
        moved = (each.sent for each in self.entries if each.sent is not None and each.was_sent_elsewhere)
        return frozenset(write.index for write in moved if write.index not in self.of_operation)


def match(operations: Iterable[Op], commits: Iterable[Commit], *, same_run: bool) -> CommitLog:
    """Find the write or fence of each commit.

    Args:
        operations: the writes, whose values are unique, and the fences of the history.
        commits: in the storage's own order.
        same_run: whether they are known to be those of the same run, even if none of them fits.

    Raises:
        HistoryError: no commit fits the history, and they may be those of another run.
    """
    written: dict[Value, Op] = {}
    fenced: dict[tuple[str, int | None], Op] = {}
    for op in operations:
        if op.f in WRITES:
            written[op.value] = op
        else:
            other = fenced.setdefault((op.resource, op.token), op)
            if other.outcome is Outcome.FAIL is not op.outcome:  # one that was not refused may have been it
                fenced[op.resource, op.token] = op
    entries = [
        Entry(
            place=place,
            commit=commit,
            sent=fenced.get((commit.resource, commit.token)) if commit.fence else written.get(commit.value),
        )
        for place, commit in enumerate(commits)
    ]
    if entries and not same_run and not any(entry.fits for entry in entries):
        raise of_another_run(entries[0])
    return CommitLog.of(_with_neighbours(entries), has_fences=any(each.commit.fence for each in entries))


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


def of_another_run(entry: Entry) -> HistoryError:
    """The message about a log that does not fit, by its first entry."""
    commit, write = entry.commit, entry.sent
    if commit.fence:
        problem = f"a fence with token {commit.token} was committed, but the history has none of it"
    elif write is None:
        problem = f"value {as_recorded(commit.value)} was committed, but the history has no write of it"
    else:
        return HistoryError(
            commit.file,
            commit.line,
            f"value {as_recorded(commit.value)} was committed to {commit.resource} with token {commit.token},"
            f" but line {write.lines[0]} of the history wrote it to {write.resource}"
            f" with token {write.token}, and no other commit fits; are these the commits of another run?",
        )
    return HistoryError(
        commit.file,
        commit.line,
        f"{problem}, and none that fits any other commit; are these the commits of another run?",
    )

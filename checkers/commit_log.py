"""The storage's own order of accepted writes, matched to the history of the clients.

A commit *fits* if a client sent that value to that resource with that token. The
log stands for the run, so one of which nothing fits is that of another run and is
refused. Single commits that do not fit contradict what the clients say they sent:

- nobody sent the value there: the log has it, and the history has no such write;
- the value was sent with another token: the write took effect, but not as it was sent. One
  that was sent with a token and is logged without one got past the fence.

Such a commit is a *stray*. It is told by itself, and nothing else follows from it:
it may have raised the mark, and whoever read its value read what the log has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from checkers.errors import HistoryError, as_recorded
from checkers.records import Commit, Op, Value

_UNRECORDED = -(1 << 62)
"""The index of the first write that nobody recorded: below that of every operation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """A commit that is not of a write as the clients sent it."""

    place: int  # among all commits of the log
    commit: Commit
    write: Op | None  # that of the same value, sent to another resource or with another token
    near: Op | None  # a write that fits the log, if possible the one before it on the same resource

    @property
    def lost_its_token(self) -> bool:
        """Was it sent there with a token, and stored without one?"""
        if self.write is None or self.write.resource != self.commit.resource:
            return False
        return self.commit.token is None

    @property
    def accused(self) -> Op:
        """The write as it was sent; of a value that nobody sent, one that nobody recorded."""
        return self.unrecorded if self.write is None else self.write

    @property
    def unrecorded(self) -> Op:
        """The write that the log has: by nobody knows whom, sent at any time."""
        commit = self.commit
        return Op(
            index=_UNRECORDED + self.place,
            process=-1,
            f="write",
            resource=commit.resource,
            called=0,
            token=commit.token,
            value=commit.value,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLog:
    """The storage's own order of accepted writes: complete, and matched to the history."""

    commits: tuple[Commit, ...]  # those of writes that were sent to that resource
    writes: tuple[Op, ...]  # the write of each of them
    places: Mapping[int, tuple[int, ...]]  # a write's index in the history → where it stands
    strays: tuple[Stray, ...] = ()

    def strays_of(self, resource: str) -> tuple[Stray, ...]:
        """The commits of a resource that no client sent there."""
        return tuple(each for each in self.strays if each.commit.resource == resource)

    @property
    def stored_elsewhere(self) -> frozenset[int]:
        """The indexes of the writes that stand in the log of another resource than they were sent to."""
        moved = (each.write for each in self.strays if each.write is not None)
        return frozenset(write.index for write in moved if write.index not in self.places)


def match(written: Mapping[Value, Op], commits: Iterable[Commit]) -> CommitLog:
    """Find the write of each commit.

    Args:
        written: the writes of the history by their values, which are unique.
        commits: in the storage's own order.

    Raises:
        HistoryError: no commit fits the history.
    """
    commits = tuple(commits)
    if commits and not any(_fits(commit, written.get(commit.value)) for commit in commits):
        raise _of_another_run(commits[0], written.get(commits[0].value))
    found = [(commit, written.get(commit.value)) for commit in commits]
    placed = [(commit, write) for commit, write in found if write and write.resource == commit.resource]
    writes = tuple(write for _, write in placed)
    places: dict[int, tuple[int, ...]] = {}
    for place, write in enumerate(writes):
        places[write.index] = (*places.get(write.index, ()), place)
    return CommitLog(
        commits=tuple(commit for commit, _ in placed),
        writes=writes,
        places=places,
        strays=tuple(_strays(found, writes)),
    )


def _strays(found: Iterable[tuple[Commit, Op | None]], writes: Iterable[Op]) -> Iterator[Stray]:
    near = {write.resource: write for write in reversed(tuple(writes))}
    for place, (commit, write) in enumerate(found):
        if not _fits(commit, write):
            resource = commit.resource if write is None else write.resource
            beside = near.get(resource) or next(iter(near.values()), None)
            yield Stray(place=place, commit=commit, write=write, near=beside)
        elif write is not None:
            near[write.resource] = write


def _fits(commit: Commit, write: Op | None) -> bool:
    return write is not None and (write.resource, write.token) == (commit.resource, commit.token)


def _of_another_run(commit: Commit, write: Op | None) -> HistoryError:
    if write is None:
        return HistoryError(
            commit.file,
            commit.line,
            f"value {as_recorded(commit.value)} was committed, but the history has no write of it, and none"
            " that fits any other commit; are these the commits of another run?",
        )
    return HistoryError(
        commit.file,
        commit.line,
        f"value {as_recorded(commit.value)} was committed to {commit.resource} with token {commit.token},"
        f" but line {write.lines[0]} of the history wrote it to {write.resource}"
        f" with token {write.token}, and no other commit fits; are these the commits of another run?",
    )

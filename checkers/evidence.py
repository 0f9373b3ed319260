"""What a verdict rests on: the clients' history, and the storage's own order where there is one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from checkers.errors import HistoryError
from checkers.records import Commit, History, Op


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLog:
    """The storage's own order of accepted writes: complete, and matched to the history."""

    commits: tuple[Commit, ...]
    writes: tuple[Op, ...]  # the write of each commit
    places: Mapping[int, tuple[int, ...]]  # a write's index in the history → where it stands


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the checkers look at."""

    history: History
    log: CommitLog | None = None

    def by_resource(self, *names: str) -> dict[str, list[Op]]:
        """The operations of these names, in the order of their calls, for each resource."""
        chosen: dict[str, list[Op]] = defaultdict(list)
        for op in self.history.operations:
            if op.f in names:
                chosen[op.resource].append(op)
        return chosen


def gather(history: History, commits: Iterable[Commit] | None = None) -> Evidence:
    """Match the storage's order to the history.

    Raises:
        HistoryError: a commit is of a write that the history does not know.
    """
    if commits is None:
        return Evidence(history=history)
    written = {op.value: op for op in history.operations if op.f == "write"}
    commits = tuple(commits)
    writes = tuple(_write_of(commit, written.get(commit.value)) for commit in commits)
    places: dict[int, tuple[int, ...]] = {}
    for place, write in enumerate(writes):
        places[write.index] = (*places.get(write.index, ()), place)
    return Evidence(history=history, log=CommitLog(commits=commits, writes=writes, places=places))


def _write_of(commit: Commit, write: Op | None) -> Op:
    if write is None:
        raise HistoryError(
            commit.file,
            commit.line,
            f"value {commit.value!r} was committed, but the history has no write of it;"
            " are these the commits of another run?",
        )
    if (write.resource, write.token) != (commit.resource, commit.token):
        raise HistoryError(
            commit.file,
            commit.line,
            f"value {commit.value!r} was committed to {commit.resource} with token {commit.token},"
            f" but line {write.lines[0]} of the history wrote it to {write.resource}"
            f" with token {write.token}",
        )
    return write

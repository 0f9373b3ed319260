"""What a verdict rests on: the clients' history, and the storage's own order where there is one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from checkers.bulk import Bulk
from checkers.columns import FUNCTIONS, Operations
from checkers.errors import HistoryError
from checkers.records import WRITES, Commit, History, Op


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
    bulk: Bulk | None = None  # of a long history without a log: its rules are judged on columns
    worked_out: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)  # see `once`

    def by_resource(self, *names: str) -> dict[str, list[Op]]:
        """The operations of these names, in the order of their calls, for each resource."""
        chosen: dict[str, list[Op]] = defaultdict(list)
        for op in self.named(*names):
            chosen[op.resource].append(op)
        return chosen

    def named(self, *names: str) -> Iterator[Op]:
        """The operations of these names, in the order of their calls."""
        operations = self.history.operations
        if isinstance(operations, Operations):  # most of a long history is never asked for
            return operations.at(operations.columns.rows(*map(FUNCTIONS.index, names)))
        return (op for op in operations if op.f in names)


def gather(history: History, commits: Iterable[Commit] | None = None) -> Evidence:
    """Match the storage's order to the history.

    Raises:
        HistoryError: a commit is of a write that the history does not know.
    """
    if commits is None:
        operations = history.operations
        bulk = None
        if isinstance(operations, Operations) and not operations.columns.has_bare_writes:
            bulk = Bulk(operations, history.header)
        return Evidence(history=history, bulk=bulk)
    written = {op.value: op for op in history.operations if op.f in WRITES}
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

"""What a verdict rests on: the clients' history, and the storage's own order where there is one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from checkers.columnar.bulk import Bulk
from checkers.columnar.columns import FUNCTIONS, Operations
from checkers.commit_log import CommitLog, match
from checkers.once import once
from checkers.reading.appends import with_lists
from checkers.records import WRITES, Commit, History, Op

_LOGGED = (*WRITES, "fence")


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


@once
def as_seen(evidence: Evidence) -> Evidence:
    """What the clients saw, without the commit log."""
    return evidence if evidence.log is None else gather(evidence.history)


def gather(history: History, commits: Iterable[Commit] | None = None, *, same_run: bool = False) -> Evidence:
    """Match the storage's order to the history.

    Raises:
        HistoryError: no commit fits the history, and they are not known to be of the same run.
    """
    if commits is None:
        history = with_lists(history)
        operations = history.operations
        bulk = None
        if isinstance(operations, Operations) and not operations.columns.has_bare_writes:
            bulk = Bulk(operations, history.header, history.faults)
        return Evidence(history=history, bulk=bulk)
    commits = tuple(commits)
    history = with_lists(history, commits)
    sent = (op for op in history.operations if op.f in _LOGGED)
    return Evidence(history=history, log=match(sent, commits, same_run=same_run))

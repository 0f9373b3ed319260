"""The evidence behind a verdict: the clients' history, and the storage's own order if there is one."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from checkers.facts.appends import with_lists
from checkers.facts.log_columns import LogColumns
from checkers.history.columns import FUNCTIONS, Operations
from checkers.history.commit_columns import Commits
from checkers.history.memoized import memoized, of_the_last
from checkers.history.records import Commit, History, Op

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that the checkers look at."""

    history: History
    log: LogColumns | None = None
    worked_out: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)  # see `memoized`

    def by_resource(self, *names: str) -> dict[str, list[Op]]:
        """Return the operations of these names for each resource, by call."""
        chosen: dict[str, list[Op]] = defaultdict(list)
        for op in self.named(*names):
            chosen[op.resource].append(op)
        return chosen

    def resources(self, name: str) -> list[str]:
        """Return the resources with operations of this name, in the order of their first ones."""
        columns = in_columns(self).columns
        of_rows = columns.resource[columns.rows(FUNCTIONS.index(name))]
        numbers, firsts = np.unique(of_rows, return_index=True)
        return [columns.resources[number] for number in numbers[np.argsort(firsts)].tolist()]

    def named(self, *names: str) -> Iterator[Op]:
        """Yield the operations of these names, by call."""
        return in_columns(self).named(*names)


@of_the_last
def seen_in(history: History) -> Evidence:
    """Return what the clients saw; its verdict and its report share what is found out about it."""
    return Evidence(history=history)


@memoized
def as_seen(evidence: Evidence) -> Evidence:
    """Return what the clients saw, without the commit log."""
    return evidence if evidence.log is None else seen_in(evidence.history)


def memoized_as_seen(work: Callable[[Evidence], T]) -> Callable[[Evidence], T]:
    """Decorate a pure function of what the clients saw; it gets the evidence without the log."""
    known = memoized(work)
    return functools.wraps(work)(lambda evidence: known(as_seen(evidence)))


@memoized_as_seen
def in_columns(evidence: Evidence) -> Operations:
    """Return all operations as columns."""
    return Operations.of(evidence.history.operations, evidence.history.header.initial_value)


def gather(history: History, commits: Iterable[Commit] | None = None, *, same_run: bool = False) -> Evidence:
    """Return the evidence of a run, with the storage's order matched to the history.

    Raises:
        HistoryError: no commit fits the history, and the two are not known to be from the same run.
    """
    if commits is None:
        return seen_in(with_lists(history))
    commits = Commits.of(commits)
    evidence = seen_in(with_lists(history, commits))
    log = LogColumns.matched(in_columns(evidence), commits)
    if not same_run:
        log.check_same_run()
    return Evidence(history=evidence.history, log=log)

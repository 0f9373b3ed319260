"""The storage's order of accepted writes, placed in time.

The storage knows the order in which it accepted writes, but not the times. A write took
effect between its call and its return (after a pause that held it up before it was sent), and
the order narrows that interval: it took effect after the calls of all writes before it, and
before the returns of all writes after it. It is drawn in the middle of the remaining interval;
several with the same interval share it evenly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.facts.appends import with_lists
from checkers.facts.evidence import seen_in
from checkers.facts.hits import sent_from
from checkers.facts.stored_values import numbers_of_stored
from checkers.history.columns import ABSENT, APPEND, NEVER, OK, WRITE, Columns, Flags, Ints, Operations
from checkers.history.commit_columns import CommitColumns, Commits
from checkers.history.ranks import stable_order
from checkers.history.records import Commit, History, Op


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcceptedWrites:
    """The accepted writes of a run, by the times (ns) at which they are drawn."""

    operations: Operations
    commits: Commits | None  # None: the storage gave no order
    commit: Ints  # of `commits`, or ABSENT
    operation: Ints  # of `operations`, or ABSENT: no client is known to have sent it
    at: Ints
    earliest: Ints
    latest: Ints

    def writes(self, places: Ints) -> Iterator[Commit | Op]:
        """The writes at some places: as the storage has each, or as its client does."""
        if self.commits is None:
            return self.operations.at(self.operation[places])
        return self.commits.at(self.commit[places])

    def written(self, places: Ints) -> tuple[Columns | CommitColumns, Ints]:
        """The columns that contain the writes at some places, and their rows in them."""
        if self.commits is None:
            return self.operations.columns, self.operation[places]
        return self.commits.columns, self.commit[places]

    def unmatched(self) -> Ints:
        """The places of those that no client is known to have sent."""
        return np.flatnonzero(self.operation == ABSENT)


def accepted(history: History, commits: Sequence[Commit] | None) -> AcceptedWrites:
    """Every write that took effect: by the storage's order if there is one, else as clients saw it."""
    history = with_lists(history, commits or ())
    operations = Operations.of(history.operations)
    sent = sent_from(seen_in(history))
    return (
        _observed(operations, sent) if commits is None else _committed(operations, Commits.of(commits), sent)
    )


def _observed(operations: Operations, sent: Ints) -> AcceptedWrites:
    columns = operations.columns
    rows = columns.rows(WRITE, APPEND)
    rows = rows[columns.outcome[rows] == OK]
    returned = columns.returned[rows]
    return AcceptedWrites(
        operations=operations,
        commits=None,
        commit=np.full(len(rows), ABSENT, dtype=np.int64),
        operation=rows,
        at=returned,
        earliest=sent[rows],
        latest=returned,
    )


def _committed(operations: Operations, commits: Commits, since: Ints) -> AcceptedWrites:
    writes = np.flatnonzero(~commits.columns.fence)
    writes = writes[np.argsort(commits.columns.seq[writes], kind="stable")]
    sent = _sent(operations.columns, commits)[writes]
    resource = commits.columns.resource[writes]
    at, earliest, latest = (np.zeros(len(writes), dtype=np.int64) for _ in range(3))
    seen, first = np.unique(resource, return_index=True)
    groups = [np.flatnonzero(resource == number) for number in seen[np.argsort(first)].tolist()]
    for group in groups:
        at[group], earliest[group], latest[group] = _placed(operations.columns, since, sent[group])
    order = np.concatenate(groups) if groups else np.arange(0)
    order = order[np.argsort(at[order], kind="stable")]
    return AcceptedWrites(
        operations=operations,
        commits=commits,
        commit=writes[order],
        operation=sent[order],
        at=at[order],
        earliest=earliest[order],
        latest=latest[order],
    )


def _sent(columns: Columns, commits: Commits) -> Ints:
    """For each commit, the row of its write, or ABSENT; if several have its value, the last."""
    number = {name: place for place, name in enumerate(columns.resources)}
    numbers = [number.get(name, len(number)) for name in commits.columns.resources]
    resource = np.array(numbers, dtype=np.int64)[commits.columns.resource]
    value = numbers_of_stored(columns, commits.columns, resource)
    rows = columns.rows(WRITE, APPEND)
    keys = columns.resource[rows] * len(columns.values) + columns.value[rows]
    order = stable_order(keys)
    keys, rows = keys[order], rows[order]
    wanted = resource * len(columns.values) + value
    places = np.searchsorted(keys, wanted, side="right") - 1
    found: Flags = (value >= 0) & (places >= 0)
    found[found] = keys[places[found]] == wanted[found]
    sent = np.full(len(wanted), ABSENT, dtype=np.int64)
    sent[found] = rows[places[found]]
    return sent


def _placed(columns: Columns, since: Ints, sent: Ints) -> tuple[Ints, Ints, Ints]:
    """When the commits of a resource are drawn, and the remaining interval of each."""
    known = sent != ABSENT
    low = np.maximum.accumulate(np.where(known, since[sent * known], 0))
    high = np.minimum.accumulate(np.where(known, columns.returned[sent * known], NEVER)[::-1])[::-1]
    room = np.where(high == NEVER, 0, np.maximum(low, high) - low)
    place, several = _shares(low, high)
    share = room // (several + 1) * place + room % (several + 1) * place // (several + 1)
    at = np.maximum.accumulate(low + share)
    return at, low, np.where(high == NEVER, at, np.maximum(low, high))


def _shares(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """For each, its place among the neighbours with the same interval, and their number."""
    starts = np.flatnonzero(np.concatenate([[True], (low[1:] != low[:-1]) | (high[1:] != high[:-1])]))
    several = np.diff(np.append(starts, len(low)))
    return np.arange(len(low)) - np.repeat(starts, several) + 1, np.repeat(several, several)

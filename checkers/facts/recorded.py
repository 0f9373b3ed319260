"""The operations and restarts of storages: shared by all rules, with a commit log and without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from checkers.facts.evidence import Evidence, in_columns, memoized_as_seen
from checkers.history.columns import ABSENT, APPEND, FAIL, FENCE, NEVER, OK, READ, WRITE, Flags, Ints, indices
from checkers.history.faults import Faults, faults_of
from checkers.history.memoized import memoized, of_the_last
from checkers.history.ranks import heights, rank
from checkers.history.records import FaultEvent, Op


@memoized_as_seen
def recorded(evidence: Evidence) -> Recorded:
    """Return the operations on storages."""
    return Recorded(evidence)


@memoized
def last_restart(evidence: Evidence) -> int:
    """Return until when a restart of the storage was in force, in ns; ABSENT if there was none."""
    restarts = restarts_of_storage(evidence.history.faults)
    return int(min(restarts.healed_by_then[-1], NEVER)) if len(restarts) else ABSENT


class Recorded:
    """The operations on storages, with their moments and tokens."""

    def __init__(self, evidence: Evidence) -> None:
        self.header = evidence.history.header
        self.ops = in_columns(evidence)
        self.columns = columns = self.ops.columns
        self.ranks = rank(columns)
        self.height, self.initial_height = heights(columns, self.header.initial_token)
        self.writes = columns.rows(WRITE, APPEND)
        self.reads = indices((columns.f == READ) & (columns.outcome == OK))
        fences = columns.rows(FENCE)
        self.fences = fences[columns.outcome[fences] != FAIL]

    @cached_property
    def writer(self) -> Ints:
        """The row that wrote the value of each read in `reads` on its resource, or -1."""
        columns = self.columns
        writer = np.full(len(columns.values), -1, dtype=np.int64)
        writer[columns.value[self.writes]] = self.writes
        write = writer[columns.value[self.reads]]
        elsewhere = columns.resource[write] != columns.resource[self.reads]
        write[elsewhere] = -1
        return write

    def are_initial(self, reads: Ints) -> Flags:
        """Which reads returned the value from before the run?"""
        columns, token = self.columns, self.columns.token[reads]
        is_first = (token == self.header.initial_token) | (token == ABSENT)
        initial: Flags = (columns.value[reads] == columns.initial) & is_first
        return initial

    @cached_property
    def order_of_resources(self) -> Ints:
        """The first row of each resource's storage operations; the count of all rows if it has none."""
        columns = self.columns
        rows = columns.rows(WRITE, APPEND, READ, FENCE)
        order = np.full(len(columns.resources), len(columns), dtype=np.int64)
        order[columns.resource[rows[::-1]]] = rows[::-1]
        return order

    def flags_of(self, operations: Iterable[Op]) -> Flags:
        """Return a flag for each row, set for these operations; an unrecorded write has no row."""
        flags = np.zeros(len(self.columns), dtype=np.bool_)
        rows = self.ops.rows_of(operations)
        flags[rows[rows >= 0]] = True
        return flags


_FORGETTING = ("kill", "restart", "failover", "script")  # a script may do any of these


@of_the_last
def restarts_of_storage(events: Sequence[FaultEvent]) -> Faults:
    """Return the observed kills, restarts, failovers and scripts of the storage or one of its members."""
    forgetting = (fault for fault in faults_of(events) if fault.kind in _FORGETTING)
    return Faults([fault for fault in forgetting if fault.target.partition(":")[0] == "storage"])

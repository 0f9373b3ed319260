"""What was asked of the storages, as columns: shared by all rules, with a commit log and without."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from checkers.facts.evidence import Evidence, as_seen, in_columns
from checkers.facts.restarts import restarts_of_storage
from checkers.history.columns import (
    ABSENT,
    APPEND,
    FAIL,
    FENCE,
    NEVER,
    OK,
    READ,
    WRITE,
    Columns,
    Flags,
    Ints,
    Operations,
    indices,
)
from checkers.history.memoized import memoized
from checkers.history.ranks import heights, rank
from checkers.history.records import Header, Op


@memoized
def recorded(evidence: Evidence) -> Recorded:
    """What was asked of the storages; the log says nothing of that."""
    if evidence.log is not None:
        return recorded(as_seen(evidence))
    return Recorded(in_columns(evidence), evidence.history.header)


@memoized
def last_restart(evidence: Evidence) -> int:
    """Until when, in ns, a restart of the storage was in force; the lowest number if none was."""
    restarts = restarts_of_storage(evidence.history.faults)
    return int(min(restarts.healed_by_then[-1], NEVER)) if len(restarts) else ABSENT


class Recorded:
    """Which operations there are, their moments and their tokens."""

    def __init__(self, operations: Operations, header: Header) -> None:
        self.header = header
        self.ops = operations
        self.columns: Columns = operations.columns
        columns = self.columns
        self.ranks = rank(columns)
        self.height, self.initial_height = heights(columns, header.initial_token)
        self.writes = columns.rows(WRITE, APPEND)
        self.reads = indices((columns.f == READ) & (columns.outcome == OK))
        fences = columns.rows(FENCE)
        self.fences = fences[columns.outcome[fences] != FAIL]

    @cached_property
    def writer(self) -> Ints:
        """For each read of `reads` the row that wrote its value there, or -1."""
        columns = self.columns
        writer = np.full(len(columns.values), -1, dtype=np.int64)
        writer[columns.value[self.writes]] = self.writes
        write = writer[columns.value[self.reads]]
        elsewhere = columns.resource[write] != columns.resource[self.reads]
        write[elsewhere] = -1
        return write

    @cached_property
    def order_of_resources(self) -> Ints:
        """For each resource the first row of its storage's operations; a high number if it has none."""
        columns = self.columns
        rows = columns.rows(WRITE, APPEND, READ, FENCE)
        order = np.full(len(columns.resources), len(columns), dtype=np.int64)
        order[columns.resource[rows[::-1]]] = rows[::-1]
        return order

    def flags_of(self, operations: Iterable[Op]) -> Flags:
        """Mark the rows of some operations; an unrecorded write has none."""
        flags = np.zeros(len(self.columns), dtype=np.bool_)
        rows = self.ops.rows_of(operations)
        flags[rows[rows >= 0]] = True
        return flags

"""What the whole history says of some operations: who wrote what was read, and what can have raised the mark.

Short histories are looked through once; of long ones, which are columns, only the
rows that are asked for become operations.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate

import numpy as np

from checkers.evidence import Evidence
from checkers.history.columns import FUNCTIONS, OUTCOMES, Columns, Flags, Ints, Operations
from checkers.history.ranks import stable_order
from checkers.history.records import WRITES, Op, Outcome, Value

_RAISING = (*WRITES, "fence")


class HistoryIndex:
    """All operations of a run, for questions about few of them."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        operations = evidence.history.operations
        self._long = operations if isinstance(operations, Operations) else None

    @cached_property
    def ended(self) -> int:
        """The last moment at which a client is known to have done something, in ns."""
        if self._long is not None:
            columns = self._long.columns
            return int(np.maximum(columns.called, columns.learned).max(initial=0))
        operations = self._evidence.history.operations
        return max((op.called if op.learned is None else op.learned for op in operations), default=0)

    def writer(self, read: Op) -> Op | None:
        """The write whose value a read returned; None if no client wrote it there."""
        if self._long is not None:
            same = self._same_value(read)
            return next(self._long.at(same[_has(self._long.columns, same, read.resource, WRITES)]), None)
        return self._writers.get((read.resource, read.value))

    def readers(self, write: Op) -> list[Op]:
        """The reads that returned a write's value, the first answered first."""
        if self._long is not None:
            columns, same = self._long.columns, self._same_value(write)
            same = same[columns.outcome[same] == OUTCOMES.index(Outcome.OK)]
            found: Iterable[Op] = self._long.at(same[_has(columns, same, write.resource, ("read",))])
        else:
            found = self._readers.get((write.resource, write.value), ())
        return sorted(found, key=lambda read: read.returned or 0)

    def raising(self, resource: str, least: int, before: float) -> list[Op]:
        """What was sent by some moment, in ns, and can have raised the mark to `least` or more.

        Writes that failed, or that were never acknowledged and are missing from the commit log, count
        only if they were read.
        """
        if self._long is not None:
            columns = self._long.columns
            sent = np.flatnonzero((columns.token >= least) & (columns.called <= before))
            found = self._long.at(sent[_has(columns, sent, resource, _RAISING)])
            return [op for op in found if self._can_raise(op)]
        return self._raising[resource].find(least, before) if resource in self._raising else []

    def logged_before(self, write: Op) -> Op | None:
        """Of the writes that stand before this one in the storage's own order, the one that was sent last."""
        log = self._evidence.log
        return None if log is None else log.sent_last_before(write)

    def _same_value(self, op: Op) -> Ints:
        """The rows of a long history that have the value of this operation's row."""
        rows, values, own = self._by_value
        number = own[op.index] if op.lines else self._number(op.value)
        first, last = np.searchsorted(values, (number, number + 1))
        return rows[first:last]

    def _number(self, value: Value) -> int:
        """The number of a value whose write was not recorded; -1 if it was not read, either."""
        known = () if self._long is None else self._long.columns.values
        return next((number for number, each in enumerate(known) if each == value), -1)

    @cached_property
    def _by_value(self) -> tuple[Ints, Ints, Ints]:
        """The rows of a long history by their values, those values, and the value of each row."""
        own = np.zeros(0, dtype=np.int64) if self._long is None else self._long.columns.value
        rows = stable_order(own)
        return rows, own[rows], own

    @cached_property
    def _writers(self) -> dict[tuple[str, Value], Op]:
        return {(op.resource, op.value): op for op in self._evidence.named(*WRITES)}

    @cached_property
    def _readers(self) -> dict[tuple[str, Value], list[Op]]:
        readers: dict[tuple[str, Value], list[Op]] = defaultdict(list)
        for read in self._evidence.named("read"):
            if read.outcome is Outcome.OK:
                readers[read.resource, read.value].append(read)
        return readers

    @cached_property
    def _raising(self) -> dict[str, _Raising]:
        return {
            resource: _Raising(op for op in operations if self._can_raise(op))
            for resource, operations in self._evidence.by_resource(*_RAISING).items()
        }

    def _can_raise(self, op: Op) -> bool:
        if op.token is None:
            return False
        if op.f == "fence":
            return op.outcome is not Outcome.FAIL
        log = self._evidence.log
        may = op.outcome is not Outcome.FAIL
        if log is not None:
            may = op.outcome is Outcome.OK or bool(log.places(op))
        return may or any(not read.precedes(op) for read in self.readers(op))


class _Raising:
    """The operations on one resource that can have raised its mark, by token."""

    def __init__(self, operations: Iterable[Op]) -> None:
        self._operations = sorted(operations, key=_token)
        latest_first = accumulate((op.called for op in reversed(self._operations)), min)
        self._first_call = list(latest_first)[::-1]  # among those from here on

    def find(self, least: int, before: float) -> list[Op]:
        start = bisect_left(self._operations, least, key=_token)
        if start == len(self._operations) or self._first_call[start] > before:
            return []
        return [op for op in self._operations[start:] if op.called <= before]


def _has(columns: Columns, rows: Ints, resource: str, functions: Iterable[str]) -> Flags:
    """Which of these rows are about a resource, and of these kinds?"""
    kinds = [FUNCTIONS.index(name) for name in functions if name in FUNCTIONS]
    number = columns.resources.index(resource) if resource in columns.resources else -1
    chosen: Flags = np.isin(columns.f[rows], kinds) & (columns.resource[rows] == number)
    return chosen


def _token(op: Op) -> int:
    return op.token or 0

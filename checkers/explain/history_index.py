"""What the whole history says of some operations: who wrote what was read, and what raised the mark."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from checkers.evidence import Evidence, in_columns, log_of
from checkers.history.columns import FUNCTIONS, OUTCOMES, Flags, Ints
from checkers.history.ranks import stable_order
from checkers.history.records import WRITES, Op, Outcome

_RAISING = (*WRITES, "fence")


class HistoryIndex:
    """All operations of a run, for questions about few of them."""

    def __init__(self, evidence: Evidence) -> None:
        self._log = log_of(evidence)
        self._ops = in_columns(evidence)
        self._columns = self._ops.columns

    @cached_property
    def ended(self) -> int:
        """The last moment at which a client is known to have done something, in ns."""
        return int(np.maximum(self._columns.called, self._columns.learned).max(initial=0))

    def writer(self, read: Op) -> Op | None:
        """The write whose value a read returned; None if no client wrote it there."""
        same = self._same_value(read)
        return next(self._ops.at(same[self._has(same, read.resource, WRITES)]), None)

    def readers(self, write: Op) -> list[Op]:
        """The reads that returned a write's value, the first answered first."""
        same = self._same_value(write)
        same = same[self._columns.outcome[same] == OUTCOMES.index(Outcome.OK)]
        found = self._ops.at(same[self._has(same, write.resource, ("read",))])
        return sorted(found, key=lambda read: read.returned or 0)

    def raising(self, resource: str, least: int, before: float) -> list[Op]:
        """What was sent by some moment, in ns, and can have raised the mark to `least` or more, by token.

        Writes that failed, or that were never acknowledged and are missing from the commit log, count
        only if they were read.
        """
        sent = self._sent(resource, least, self._columns.called <= before)
        found = self._ops.at(sent)
        return sorted((op for op in found if self._can_raise(op)), key=lambda op: op.token or 0)

    def first_raising(self, resource: str, least: int, after: int) -> Op | None:
        """Of what was sent after some moment, in ns, and can have raised the mark so, what was sent first."""
        sent = self._sent(resource, least, self._columns.called > after)
        order = np.lexsort((self._columns.token[sent], self._columns.called[sent]))
        return next((op for row in sent[order] if self._can_raise(op := self._ops[int(row)])), None)

    def was_sent(self, rejected: Op, least: int) -> bool:
        """Was anything else of `least` or more sent before a rejection returned, whatever became of it?"""
        by_then = self._columns.called <= (rejected.returned or 0)
        sent = self._sent(rejected.resource, least, by_then)
        return bool(np.any(sent != self._ops.row(rejected)))

    def has_fence(self, resource: str, least: int) -> bool:
        """Was there a fence without a write that can have raised the mark to `least` or more?"""
        fences = self._sent(resource, least, self._columns.f == FUNCTIONS.index("fence"))
        return bool(np.any(self._columns.outcome[fences] != OUTCOMES.index(Outcome.FAIL)))

    def logged_before(self, write: Op) -> Op | None:
        """Of the writes that stand before this one in the storage's own order, the one that was sent last."""
        return None if self._log is None else self._log.sent_last_before(write)

    def _same_value(self, op: Op) -> Ints:
        """The rows that have the value of this operation."""
        rows, values = self._by_value
        columns = self._columns
        number = int(columns.value[self._ops.row(op)]) if op.lines else 0
        if columns.values[number] != op.value:  # it is not recorded, or about another value than its own
            number = self._numbers.get(op.value, -1)
        first, last = np.searchsorted(values, (number, number + 1))
        return rows[first:last]

    @cached_property
    def _numbers(self) -> dict[object, int]:
        return {value: number for number, value in enumerate(self._columns.values)}

    @cached_property
    def _by_value(self) -> tuple[Ints, Ints]:
        """The rows by their values, and those values."""
        rows = stable_order(self._columns.value)
        return rows, self._columns.value[rows]

    def _sent(self, resource: str, least: int, chosen: Flags) -> Ints:
        """Of the chosen rows, those that would raise the mark of a resource to `least` or more."""
        rows = np.flatnonzero(chosen & (self._columns.token >= least))
        return rows[self._has(rows, resource, _RAISING)]

    def _has(self, rows: Ints, resource: str, functions: Iterable[str]) -> Flags:
        """Which of these rows are about a resource, and of these kinds?"""
        resources, f = self._columns.resources, self._columns.f[rows]
        number = resources.index(resource) if resource in resources else -1
        is_kind = np.zeros(len(rows), dtype=np.bool_)
        for name in functions:
            is_kind |= f == FUNCTIONS.index(name)
        chosen: Flags = is_kind & (self._columns.resource[rows] == number)
        return chosen

    def _can_raise(self, op: Op) -> bool:
        if op.f == "fence":
            return op.outcome is not Outcome.FAIL
        if self._log is None:
            may = op.outcome is not Outcome.FAIL
        else:
            may = op.outcome is Outcome.OK or bool(self._log.places(op))
        return may or any(not read.precedes(op) for read in self.readers(op))

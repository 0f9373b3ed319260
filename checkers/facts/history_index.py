"""An index of the whole history: who wrote the value that was read, and what raised the mark?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import takewhile
from operator import attrgetter
from typing import Any

import numpy as np

from checkers.facts.evidence import Evidence, in_columns
from checkers.history.columns import ABSENT, FAIL, FENCE, FUNCTIONS, NO_ROWS, OK, READ, Columns, Flags, Ints
from checkers.history.ranges import Above
from checkers.history.ranks import stable_order
from checkers.history.records import WRITES, Op, Outcome

_RAISING = (*WRITES, "fence")


class Raising:
    """Writes and fences with a token, sorted by token and by call."""

    def __init__(self, columns: Columns, rows: Ints) -> None:
        tokens = columns.token[rows]
        self._by_token = rows[np.lexsort((rows, tokens))]
        self._tokens = columns.token[self._by_token]
        self._called = Above(-columns.called[self._by_token])
        self._by_call = rows[np.lexsort((rows, tokens, columns.called[rows]))]
        self._calls = columns.called[self._by_call]
        self._token = Above(columns.token[self._by_call])
        fences = (columns.f[rows] == FENCE) & (columns.outcome[rows] != FAIL)
        self.highest_fence = int(tokens[fences].max(initial=ABSENT))

    def sent_by(self, least: int, moment: float) -> Iterator[int]:
        """Return the rows of this token or a higher one that were called by a moment (ns), by token."""
        return _rows(self._by_token, self._called, -moment - 1, np.searchsorted(self._tokens, least))

    def sent_after(self, least: int, moment: int) -> Iterator[int]:
        """Return the rows of this token or a higher one that were called after a moment (ns), by call."""
        return _rows(self._by_call, self._token, least - 1, np.searchsorted(self._calls, moment, "right"))

    def of_token(self, token: int) -> list[int]:
        """Return the rows of one token, by call."""
        first, last = np.searchsorted(self._tokens, (token, token + 1))
        rows: list[int] = self._by_token[first:last].tolist()
        return rows


def _rows(rows: Ints, above: Above, limit: float, start: np.int64) -> Iterator[int]:
    """Yield the rows above a limit, from a place on."""
    place = above.first((limit,), int(start))
    while place is not None:
        yield int(rows[place])
        place = above.first((limit,), place + 1)


class HistoryIndex:
    """All operations of a run, indexed for questions about a few of them."""

    def __init__(self, evidence: Evidence) -> None:
        self._log = evidence.log
        self._ops = in_columns(evidence)
        self._columns = self._ops.columns
        self._raising: dict[tuple[str, bool], Raising] = {}
        self._rows_by_value: dict[tuple[str, ...], tuple[Ints, Ints]] = {}

    @cached_property
    def ended(self) -> int:
        """The last moment at which a client is known to have done something, in ns."""
        return int(np.maximum(self._columns.called, self._columns.learned).max(initial=0))

    def writer(self, read: Op) -> Op | None:
        """Return the write whose value a read returned; None if no client wrote it there."""
        return next(self._ops.at(self._with_value_of(read, WRITES)), None)

    def readers(self, write: Op) -> list[Op]:
        """Return the reads that returned a write's value, by return."""
        same = self._with_value_of(write, ("read",))
        same = same[self._columns.outcome[same] == OK]
        return sorted(self._ops.at(same), key=attrgetter("over"))

    def raising(self, resource: str, least: int, before: float) -> Iterator[Op]:
        """Yield operations sent by `before` (ns) that can have raised the mark to `least` or more, by token.

        Writes that failed, or that were never acknowledged, count only if they were read or the commit log
        has them; without a log, the unanswered ones count, too.
        """
        return self._that_can_raise(self._raising_of(resource).sent_by(least, before))

    def raising_to(self, resource: str, token: int) -> Iterator[Op]:
        """Yield the operations that can have raised the mark to exactly this token, by call."""
        return self._that_can_raise(self._raising_of(resource).of_token(token))

    def first_raising(self, resource: str, least: int, after: int) -> Op | None:
        """Return the first operation sent after a moment (ns) that can have raised the mark to `least`."""
        return next(self._that_can_raise(self._raising_of(resource).sent_after(least, after)), None)

    def first_logged(self, resource: str, least: int) -> Op | None:
        """Return the first logged operation that can have raised the mark to `least` or more."""
        if self._log is None:
            return None
        number = self._numbers_of_resources[resource]
        found = _rows(self._log.row, self._sent_tokens, least - 1, self._log.first[number])
        own = takewhile(lambda row: self._columns.resource[row] == number, found)
        return next(self._that_can_raise(own), None)

    @cached_property
    def _sent_tokens(self) -> Above:
        """The token that each commit was sent with."""
        rows = NO_ROWS if self._log is None else self._log.row
        return Above(np.append(self._columns.token, ABSENT)[rows])

    def was_sent(self, rejected: Op, least: int) -> bool:
        """Was another operation of `least` or more sent before a rejection returned, even a failed one?"""
        sent = self._raising_of(rejected.resource, or_failed=True).sent_by(least, rejected.over)
        return any(row != self._ops.row(rejected) for row in sent)

    def has_fence(self, resource: str, least: int) -> bool:
        """Was there a fence without a write that can have raised the mark to `least` or more?"""
        return self._raising_of(resource).highest_fence >= least

    def _raising_of(self, resource: str, *, or_failed: bool = False) -> Raising:
        """Return the writes and fences of a resource that can have raised the mark, or all of them."""
        if (resource, or_failed) not in self._raising:
            number, columns = self._numbers_of_resources[resource], self._columns
            order, resources = self._raising_by_resource
            first, last = np.searchsorted(resources, (number, number + 1))
            rows = order[first:last]
            if not or_failed:  # it did not fail, or is logged, or wrote a value that was read
                rows = rows[(columns.outcome[rows] != FAIL) | self._was_seen[rows]]
            self._raising[resource, or_failed] = Raising(self._columns, rows)
        return self._raising[resource, or_failed]

    @cached_property
    def _was_seen(self) -> Flags:
        """Which rows are logged, or have a value that was read?"""
        columns = self._columns
        was_read = np.zeros(len(columns.values), dtype=np.bool_)
        was_read[columns.value[columns.rows(READ)]] = True
        seen: Flags = was_read[columns.value]
        return seen if self._log is None else seen | (self._log.first_of_row >= 0)

    @cached_property
    def _raising_by_resource(self) -> tuple[Ints, Ints]:
        rows = self._columns.rows(*map(FUNCTIONS.index, _RAISING))
        rows = rows[self._columns.token[rows] != ABSENT]
        rows = rows[stable_order(self._columns.resource[rows])]
        return rows, self._columns.resource[rows]

    def _with_value_of(self, op: Op, functions: tuple[str, ...]) -> Ints:
        """Return the rows of these functions with the resource and the value of this operation."""
        columns = self._columns
        number = int(columns.value[self._ops.row(op)]) if op.lines else 0
        if columns.values[number] != op.value:  # not recorded, or not with its own value
            number = self._numbers.get(op.value, ABSENT)
        resource = self._numbers_of_resources.get(op.resource, ABSENT)
        if ABSENT in {number, resource}:
            return NO_ROWS
        rows, keys = self._by_value(functions)
        key = self._key(number, resource)
        first, last = np.searchsorted(keys, (key, key + 1))
        return rows[first:last]

    @cached_property
    def _numbers(self) -> dict[object, int]:
        return {value: number for number, value in enumerate(self._columns.values)}

    @cached_property
    def _numbers_of_resources(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._columns.resources)}

    def _by_value(self, functions: tuple[str, ...]) -> tuple[Ints, Ints]:
        """Return the rows of these functions by value and resource, and those two as one number."""
        if functions not in self._rows_by_value:
            columns = self._columns
            rows = columns.rows(*map(FUNCTIONS.index, functions))
            rows = rows[stable_order(self._key(columns.value[rows], columns.resource[rows]))]
            self._rows_by_value[functions] = rows, self._key(columns.value[rows], columns.resource[rows])
        return self._rows_by_value[functions]

    def _key(self, value: Ints | int, resource: Ints | int) -> Any:
        return value * len(self._columns.resources) + resource

    def _that_can_raise(self, rows: Iterable[int]) -> Iterator[Op]:
        return (op for row in rows if self._can_raise(op := self._ops[row]))

    def _can_raise(self, op: Op) -> bool:
        if op.f == "fence":
            return op.outcome is not Outcome.FAIL
        if self._log is None:
            may = op.outcome is not Outcome.FAIL
        else:
            may = op.outcome is Outcome.OK or bool(self._log.places(op))
        return may or any(not read.precedes(op) for read in self.readers(op))

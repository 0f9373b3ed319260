"""The operations of a run as rows of columns: questions about all of them are array operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np

from checkers.history.columns import ABSENT, ACQUIRE, NEVER, OK, Columns, Ints, Operations
from checkers.history.ranks import distinct, stable_order
from checkers.history.records import Op


def ends(columns: Columns) -> Ints:
    """When the client stopped waiting for each operation (ns); its call if no end was recorded."""
    learned = np.where(columns.learned == ABSENT, columns.called, columns.learned)
    return np.where(columns.returned == NEVER, learned, columns.returned)


def number_of_stale(columns: Columns) -> int:
    """The number of the error `stale`; an unused number if no write was refused."""
    return columns.errors.index("stale") if "stale" in columns.errors else len(columns.errors)


class Lines:
    """Finds the operations that are recorded on lines of their history."""

    def __init__(self, operations: Operations) -> None:
        self.operations = operations

    @cached_property
    def _ordered(self) -> tuple[Ints, Ints]:
        """All lines in their order, and the rows of their operations."""
        columns = self.operations.columns
        lines = np.concatenate([columns.invoked_line, columns.completed_line])
        order = np.argsort(lines, kind="stable")
        return lines[order], order % len(columns)

    def find(self, line: int) -> Op | None:
        """The operation with this line."""
        lines, rows = self._ordered
        place = int(np.searchsorted(lines, line))
        return self.operations[int(rows[place])] if place < len(lines) and lines[place] == line else None

    def of(self, lines: Iterable[int]) -> Iterator[Op]:
        """The operations with these lines, in their order; lines without one are left out."""
        return (op for op in map(self.find, lines) if op is not None)


def keys_by_owner(columns: Columns) -> Ints:
    """A number for each resource and owner, row by row."""
    keys: Ints = columns.resource * (len(columns.owners) + 1) + np.where(
        columns.owner == ABSENT, 0, columns.owner + 1
    )
    return keys


class GroupedRows:
    """Some rows grouped by a key, each group in the order of the rows."""

    def __init__(self, rows: Ints, keys: Ints) -> None:
        self._order = stable_order(keys)
        self._rows, self._keys = rows[self._order], keys[self._order]

    def of(self, key: int) -> Ints:
        """The rows with a key."""
        return self.of_each(np.array([key]))[0]

    def of_each(self, keys: Ints) -> list[Ints]:
        """The rows with each of these keys."""
        bounds = np.searchsorted(self._keys, [keys, keys + 1]).T.tolist()
        return [self._rows[first:end] for first, end in bounds]

    def greatest(self, values: Ints, keys: Ints) -> Ints:
        """The greatest value of the rows with each of these keys; ABSENT if no row has the key."""
        if not len(self._keys):
            return np.full(len(keys), ABSENT, dtype=np.int64)
        known, starts = np.unique(self._keys, return_index=True)
        found = np.maximum.reduceat(values[self._order], starts)
        places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[places] == keys, found[places], ABSENT)


class Grants:
    """Finds grants by their tokens, and those without a token by their owners."""

    def __init__(self, operations: Operations) -> None:
        columns = operations.columns
        acquires = columns.rows(ACQUIRE)
        self.rows: Ints = acquires[columns.outcome[acquires] == OK]
        self._operations = operations
        self._numbers = {name: number for number, name in enumerate(columns.resources)}
        tokens, ranks = distinct(columns.token)
        by_owner = (columns.token == ABSENT) & (columns.owner != ABSENT)
        ranks = np.where(by_owner, len(tokens) + columns.owner, ranks)
        width = len(tokens) + len(columns.owners)
        self.keys: Ints = columns.resource * width + ranks  # of resource and token or owner, row by row
        self._like = GroupedRows(self.rows, self.keys[self.rows])

    def has(self, row: int) -> bool:
        """Is this operation a grant?"""
        place = int(np.searchsorted(self.rows, row))
        return place < len(self.rows) and int(self.rows[place]) == row

    def of_resource(self, resource: str) -> Ints:
        """The rows of the grants of a lock."""
        number = self._numbers.get(resource, ABSENT)
        rows: Ints = self.rows[self._operations.columns.resource[self.rows] == number]
        return rows

    def like(self, op: Op) -> Ints:
        """The rows of the grants with the token of an operation; if it has none, with its owner."""
        return self._like.of(int(self.keys[self._operations.row(op)]))

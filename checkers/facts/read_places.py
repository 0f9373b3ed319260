"""The positions in the storage's own order of the values that reads returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.facts.log_columns import LogColumns
from checkers.facts.recorded import Recorded
from checkers.history.columns import ABSENT, Flags, Ints, indices
from checkers.history.ranges import NOWHERE
from checkers.history.ranks import stable_order


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReadPlaces:
    """The ok reads of a logged value, or of the value from before the run, and the positions of the values.

    The value from before the run has the position just before the first one of its resource.
    """

    rows: Ints
    first: Ints  # the first position of each read's value
    last: Ints  # and the last one
    repeated: Mapping[int, Sequence[int]]  # by row: all positions, if the value was logged more than once


def read_places(recorded: Recorded, log: LogColumns) -> ReadPlaces:
    """Return the positions of the value that each read returned, where the log has it with that token."""
    columns, ranks = recorded.columns, recorded.ranks
    rows, write = recorded.reads, recorded.writer
    is_after = (write < 0) | (ranks.returned[rows] >= ranks.called[write])
    values = _Values(log, len(columns.values))
    first, last = values.first_and_last(columns.resource[rows], columns.value[rows])
    known = recorded.are_initial(rows) & (write < 0) & (first == NOWHERE)
    start = log.first[columns.resource[rows]] - 1
    first, last = np.where(known, start, first), np.where(known, start, last)
    logged = indices(~known & (first != NOWHERE) & is_after)
    known[logged] = _has_token(recorded, log, rows[logged], write[logged], first[logged])
    repeated: dict[int, Sequence[int]] = {}
    known_of: dict[tuple[int, int, int], tuple[bool, Sequence[int]]] = {}
    for place in logged[first[logged] != last[logged]].tolist():
        row = rows[place]
        asked = int(columns.resource[row]), int(columns.value[row]), int(columns.token[row])
        if asked not in known_of:
            positions = values.positions(*asked[:2])
            each = np.full(len(positions), place)
            has_token = _has_token(recorded, log, rows[each], write[each], positions).any()
            known_of[asked] = bool(has_token), positions.tolist()
        known[place], repeated[int(row)] = known_of[asked]
    return ReadPlaces(rows=rows[known], first=first[known], last=last[known], repeated=repeated)


def _has_token(recorded: Recorded, log: LogColumns, rows: Ints, write: Ints, positions: Ints) -> Flags:
    """Which reads returned the token at a position, or the token that the value was sent with?"""
    columns = recorded.columns
    token, stored = columns.token[rows], log.token[positions]
    sent = columns.token[write]
    was_sent_so = (write >= 0) & ((sent == ABSENT) | (sent == token))
    same: Flags = (token == ABSENT) | (stored == ABSENT) | (stored == token) | was_sent_so
    return same


class _Values:
    """The positions of all logged values."""

    def __init__(self, log: LogColumns, values: int) -> None:
        self._log = log
        self._values = values
        entries = indices(~log.fence & (log.value >= 0))
        self._first = np.full(values, NOWHERE, dtype=np.int64)
        self._first[log.value[entries[::-1]]] = entries[::-1]
        self._is_unique = np.count_nonzero(self._first != NOWHERE) == len(entries)
        if not self._is_unique:
            key = log.resource[entries] * values + log.value[entries]
            order = stable_order(key)
            self._key, self._entries = key[order], np.append(entries[order], NOWHERE)

    def first_and_last(self, resource: Ints, value: Ints) -> tuple[Ints, Ints]:
        """Return the first and the last position of each value on a resource, or NOWHERE."""
        if self._is_unique:
            found = self._first[value]
            if len(self._log):
                found[self._log.resource[found] != resource] = NOWHERE
            return found, found
        asked = resource * self._values + value
        first = np.searchsorted(self._key, asked)
        last = np.searchsorted(self._key, asked, side="right") - 1
        absent = last < first
        first[absent] = last[absent] = -1
        return self._entries[first], self._entries[last]

    def positions(self, resource: int, value: int) -> Ints:
        """Return all positions of a value on a resource."""
        asked = resource * self._values + value
        first, last = np.searchsorted(self._key, (asked, asked + 1))
        return self._entries[first:last]

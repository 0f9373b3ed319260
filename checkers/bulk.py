"""A long history, judged on columns: what several checkers ask of it, worked out once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from checkers import fencing_columns, lateness_columns
from checkers.columns import Flags, Operations
from checkers.conflict import Conflict
from checkers.records import Header
from checkers.zone_columns import ZoneColumns


class Bulk:
    """The answers of `fencing`, `lateness` and `coverage`, without a commit log."""

    def __init__(self, operations: Operations, header: Header) -> None:
        self._operations = operations
        self._header = header

    @cached_property
    def observed(self) -> tuple[Conflict, ...]:
        """What is wrong with what the clients saw of the storage."""
        return tuple(fencing_columns.observed(self._zones))

    @cached_property
    def late_writes(self) -> tuple[Conflict, ...]:
        """The writes of superseded holders that their successors had not overtaken."""
        return tuple(lateness_columns.late_writes(self._zones, self._stale))

    @cached_property
    def attempts(self) -> dict[str, int]:
        """How many late and stale writes were tried."""
        return lateness_columns.attempts(self._zones, self._stale)

    @cached_property
    def _zones(self) -> ZoneColumns:
        return ZoneColumns(self._operations, self._header)

    @cached_property
    def _stale(self) -> Flags:
        stale = np.zeros(len(self._operations), dtype=np.bool_)
        stale[[each.accused.index for each in self.observed if each.anomaly == "stale-write"]] = True
        return stale

"""A long history, judged on columns: what several checkers ask of it, worked out once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from itertools import groupby

import numpy as np

from checkers import losses
from checkers.columnar import fencing_columns, lateness_columns
from checkers.columnar.columns import Flags, Operations
from checkers.columnar.loss_values import of_columns
from checkers.columnar.zone_columns import ZoneColumns
from checkers.conflict import Conflict, came_after_newer
from checkers.records import FaultEvent, Header


class Bulk:
    """The answers of `fencing`, `lateness` and `coverage`, without a commit log."""

    def __init__(self, operations: Operations, header: Header, faults: Iterable[FaultEvent] = ()) -> None:
        self._operations = operations
        self._header = header
        self._faults = tuple(faults)

    @cached_property
    def observed(self) -> tuple[Conflict, ...]:
        """What is wrong with what the clients saw of the storage."""
        storage = losses.Storage.of(self._header, self._faults)
        resources = self._operations.columns.resources
        of_each = groupby(fencing_columns.observed(self._zones), key=lambda each: each.accused.resource)
        return tuple(
            told
            for name, conflicts in of_each
            for told in losses.told(
                partial(of_columns, self._zones, resources.index(name)), storage, list(conflicts)
            )
        )

    @cached_property
    def late_writes(self) -> tuple[Conflict, ...]:
        """The writes of superseded holders that their successors had not overtaken."""
        stale = self._rows(each for each in self.observed if each.anomaly == "stale-write")
        return tuple(lateness_columns.late_writes(self._zones, stale))

    @cached_property
    def attempts(self) -> dict[str, int]:
        """How many late and stale writes were tried."""
        after_newer = self._rows(each for each in self.observed if came_after_newer(each))
        return lateness_columns.attempts(self._zones, after_newer)

    @cached_property
    def _zones(self) -> ZoneColumns:
        return ZoneColumns(self._operations, self._header)

    def _rows(self, conflicts: Iterable[Conflict]) -> Flags:
        """Which rows are accused."""
        accused = np.zeros(len(self._operations), dtype=np.bool_)
        accused[[each.accused.index for each in conflicts]] = True
        return accused

"""What several checkers ask of the storages of a history, on columns, worked out once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from itertools import groupby

import numpy as np

from checkers.conflict import Conflict, came_after_newer
from checkers.history.columns import ABSENT, NEVER, Flags, Operations
from checkers.history.records import History
from checkers.history.restarts import restarts_of_storage
from checkers.storage import (
    durability,
    fenced_registers,
    late_writes,
    lost_writes,
    rejections,
    stale_writes,
    unfenced_writes,
)
from checkers.storage.cluster_columns import Recorded, ZoneColumns
from checkers.storage.commit_order import CommitOrder
from checkers.storage.held_values import of_columns
from checkers.storage.log_columns import LogColumns
from checkers.storage.short_histories import attempts_if_right


class Bulk:
    """What the clients saw, without a commit log."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._header = history.header

    @cached_property
    def operations(self) -> Operations:
        """The operations as columns, also of a short history."""
        operations = self._history.operations
        if isinstance(operations, Operations):
            return operations
        return Operations.of(operations, self._header.initial_value)

    @cached_property
    def recorded(self) -> Recorded:
        """What was asked of the storages."""
        return Recorded(self.operations, self._header)

    @cached_property
    def _attempts_if_right(self) -> dict[str, int] | None:
        """Of a short history that is surely right: how many late and stale writes were tried."""
        operations = self._history.operations
        is_long = isinstance(operations, Operations)
        return None if is_long else attempts_if_right(operations, self._header)

    @cached_property
    def observed(self) -> tuple[Conflict, ...]:
        """What is wrong with what the clients saw of the storage."""
        if self._attempts_if_right is not None:
            return ()
        storage = lost_writes.Storage.of(self._header, self._history.faults)
        resources = self.operations.columns.resources
        of_each = groupby(fenced_registers.observed(self._zones), key=lambda each: each.accused.resource)
        return tuple(
            told
            for name, conflicts in of_each
            for told in lost_writes.told(
                partial(of_columns, self._zones, resources.index(name)), storage, list(conflicts)
            )
        )

    @cached_property
    def late_writes(self) -> tuple[Conflict, ...]:
        """The writes of superseded holders that their successors had not overtaken."""
        if self._attempts_if_right is not None:
            return ()
        stale = accused_rows(self.recorded, (e for e in self.observed if e.anomaly == "stale-write"))
        return tuple(late_writes.late_writes(self._zones, stale))

    @property
    def bare_writes(self) -> Iterator[Conflict]:
        """The writes without a token that took effect."""
        if self._attempts_if_right is not None:
            return iter(())
        return unfenced_writes.sent_without_a_token(self._zones)

    @cached_property
    def attempts(self) -> dict[str, int]:
        """How many late and stale writes were tried."""
        if self._attempts_if_right is not None:
            return self._attempts_if_right
        after_newer = accused_rows(self.recorded, filter(came_after_newer, self.observed))
        return late_writes.attempts(self._zones, after_newer)

    @cached_property
    def _zones(self) -> ZoneColumns:
        return ZoneColumns(self.recorded)


class LoggedBulk:
    """The same with a commit log, and what only the log can tell."""

    def __init__(self, seen: Bulk, log: LogColumns, history: History) -> None:
        self.seen = seen  # without the log
        self.log = log
        self._history = history
        self._recorded = seen.recorded
        restarts = (restart.healed for restart in restarts_of_storage(history.faults))
        self._restarted = int(min(max(restarts, default=ABSENT), NEVER))

    @cached_property
    def order(self) -> CommitOrder:
        """Where the log had got to at each moment."""
        return CommitOrder(self._recorded, self.log)

    @property
    def against_the_log(self) -> tuple[Conflict, ...]:
        """Operations that come too late for their place."""
        return self.order.conflicts

    @cached_property
    def stale_in_log(self) -> tuple[Conflict, ...]:
        """Writes that stand in the log after a newer token."""
        return tuple(stale_writes.in_log(self.log, self._recorded.header))

    @cached_property
    def resolved(self) -> tuple[Conflict, ...]:
        """What is wrong with reads, rejections and fences where the log says which writes took effect."""
        zones, log = self._zones, self.log
        found = [*zones.misreads()]
        if zones.header.fenced and not log.has_fences:
            found += stale_writes.after_fence(zones, log, self.order.starts)
        found += rejections.of_logged(zones, log, self.order, self._restarted)
        order = dict(zip(log.resources, self._recorded.order_of_resources.tolist(), strict=False))
        return tuple(sorted(found, key=lambda each: order[each.accused.resource]))

    @cached_property
    def missing(self) -> tuple[Conflict, ...]:
        """What the log lacks of what the clients know to be there."""
        fences = self.order.missing_fences
        return tuple(durability.missing(self._zones, self.log, fences, self._restarted))

    @property
    def ghost_writes(self) -> Iterator[Conflict]:
        """Writes that ended in fail and stand in the log."""
        return durability.ghost_writes(self._recorded, self.log)

    @property
    def duplicate_writes(self) -> Iterator[Conflict]:
        """Writes that stand twice in the log."""
        return durability.duplicate_writes(self._recorded, self.log)

    @property
    def strays(self) -> Iterator[Conflict]:
        """Commits of what nobody sent, or not so."""
        history = self._history
        return durability.strays(self.log, fenced=history.header.fenced, is_cut_short=history.is_cut_short)

    @property
    def bare_writes(self) -> Iterator[Conflict]:
        """The writes without a token that took effect, and those that lost theirs on the way."""
        yield from unfenced_writes.sent_without_a_token(self._zones)
        yield from unfenced_writes.stored_without_a_token(self.log)

    @cached_property
    def late_writes(self) -> tuple[Conflict, ...]:
        """The writes of superseded holders that their successors had not overtaken."""
        stale = accused_rows(self._recorded, self._stale_writes)
        return tuple(late_writes.late_writes(self._zones, stale))

    @cached_property
    def attempts(self) -> dict[str, int]:
        """How many late and stale writes were tried."""
        after_newer = accused_rows(self._recorded, filter(came_after_newer, self._stale_writes))
        return late_writes.attempts(self._zones, after_newer)

    @cached_property
    def _stale_writes(self) -> list[Conflict]:
        return [each for each in (*self.stale_in_log, *self.resolved) if each.anomaly == "stale-write"]

    @cached_property
    def _zones(self) -> ZoneColumns:
        return ZoneColumns(self._recorded, self.log)


def accused_rows(recorded: Recorded, conflicts: Iterable[Conflict]) -> Flags:
    """Which rows are accused; what nobody recorded has none."""
    accused = np.zeros(len(recorded.columns), dtype=np.bool_)
    rows = recorded.ops.rows_of(each.accused for each in conflicts)
    accused[rows[rows >= 0]] = True
    return accused

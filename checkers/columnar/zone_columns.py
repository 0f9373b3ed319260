"""The zones of all registers at once, as columns: what `zones` says of one, for many operations.

Nothing here knows a commit log. Moments are ranks and tokens are heights (see
`ranks`). The zones are those of the initial values, by resource, and then
those of the writes that took effect, in the order of their calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from checkers.columnar.columns import (
    FAIL,
    FENCE,
    INFO,
    OK,
    READ,
    WRITE,
    Columns,
    Ints,
    Operations,
)
from checkers.columnar.ranks import UNRANKED, Summit, heights, is_repeated, rank, stable_order
from checkers.conflict import Conflict, Rule
from checkers.records import Header, Op, Outcome
from checkers.zones import Zone, initial_zone, misread, written_zone


class ZoneColumns:
    """The zones of a history, and the other writes, as arrays with one place for each."""

    def __init__(self, operations: Operations, header: Header) -> None:
        self.header = header
        self.ops = operations
        self.columns: Columns = operations.columns
        self.ranks = rank(self.columns)
        self.height, self.initial_height = heights(self.columns, header.initial_token)
        self.writes = self.columns.rows(WRITE)
        self._sort_reads()
        self._sort_writes()
        self._bound_zones()

    def _sort_reads(self) -> None:
        """Find the write of each ok read's value, as far as the read can be of it."""
        columns, ranks = self.columns, self.ranks
        writer = np.full(len(columns.values), -1, dtype=np.int64)
        writer[columns.value[self.writes]] = self.writes
        reads = np.flatnonzero((columns.f == READ) & (columns.outcome == OK))
        write = writer[columns.value[reads]]
        can_be = (
            (write >= 0)
            & (columns.resource[write] == columns.resource[reads])
            & (columns.token[write] == columns.token[reads])
            & (ranks.returned[reads] >= ranks.called[write])
        )
        good, others = np.flatnonzero(can_be), np.flatnonzero(~can_be)
        self.reads, self.read_write = reads[good], write[good]
        self._sort_misreads(reads[others], write[others])

    def _sort_misreads(self, reads: Ints, write: Ints) -> None:
        """Of the reads that no write explains, tell those of the initial values from the wrong ones."""
        columns = self.columns
        of_nobody = (write < 0) | (columns.resource[write] != columns.resource[reads])
        initial = (columns.value[reads] == columns.initial) & (
            columns.token[reads] == self.header.initial_token
        )
        wrong_token = ~of_nobody & (columns.token[write] != columns.token[reads])
        too_early = ~of_nobody & ~wrong_token
        self.initial_reads = reads[of_nobody & initial]
        self._misreads = [
            (Rule.VALUE_OF_NOBODY, reads[of_nobody & ~initial], None),
            (Rule.VALUE_WITH_WRONG_TOKEN, reads[wrong_token], write[wrong_token]),
            (Rule.READ_BEFORE_WRITTEN, reads[too_early], write[too_early]),
        ]

    def _sort_writes(self) -> None:
        """Tell the writes that took effect, a zone each, from those that may have, and were rejected."""
        columns = self.columns
        took_effect = columns.outcome == OK
        took_effect[self.read_write] = True
        self.write = self.writes[np.flatnonzero(took_effect[self.writes])]
        self.is_ghost = columns.outcome[self.write] == FAIL
        others = self.writes[np.flatnonzero(~took_effect[self.writes])]
        self.optional = others[np.flatnonzero(columns.outcome[others] == INFO)]
        stale = [number for number, error in enumerate(columns.errors) if error == "stale"]
        refused = (columns.outcome[others] == FAIL) & np.isin(columns.error[others], stale)
        self.rejected, self.undecided = others[np.flatnonzero(refused)], others[np.flatnonzero(~refused)]
        fences = columns.rows(FENCE)
        self.fences = fences[columns.outcome[fences] != FAIL]

    def _bound_zones(self) -> None:
        """When each zone had surely begun, and until when it surely lasted."""
        columns, ranks = self.columns, self.ranks
        self.initials = len(columns.resources)
        own = ranks.returned[self.write]  # never, of an info
        own[self.is_ghost] = UNRANKED
        self.settled = np.concatenate((ranks.start, own))
        np.minimum.at(self.settled, self.read_zone, ranks.returned[self.reads])
        self.claimed = np.concatenate((ranks.start, ranks.called[self.write]))
        np.maximum.at(self.claimed, self.read_zone, ranks.called[self.reads])
        initial = columns.resource[self.initial_reads]
        np.maximum.at(self.claimed, initial, ranks.called[self.initial_reads])
        self.level = np.concatenate((self.initial_height, self.height[self.write]))
        self.resource = np.concatenate((np.arange(self.initials), columns.resource[self.write]))

    @cached_property
    def mark(self) -> Summit:
        """What had surely been accepted before a moment; its entries are zones."""
        known = self._settled_zones
        return Summit(self.ranks.size, self.settled[known], self.level[known])

    @cached_property
    def mark_with_fences(self) -> Summit:
        """As `mark`, and acknowledged fences count; they are the entries after the zones."""
        if not len(self.acknowledged_fences):
            return self.mark
        known, fences = self._settled_zones, self.acknowledged_fences
        return Summit(
            self.ranks.size,
            np.concatenate((self.settled[known], self.ranks.returned[fences])),
            np.concatenate((self.level[known], self.height[fences])),
        )

    def proof(self, entry: int) -> tuple[Op, ...]:
        """What proves an entry of a mark; nothing for an initial one."""
        known = self._settled_zones
        if entry >= len(known):
            return (self.ops[int(self.acknowledged_fences[entry - len(known)])],)
        return self.zone(int(known[entry])).proof

    @cached_property
    def acknowledged_fences(self) -> Ints:
        """The rows of the fences that returned."""
        acknowledged: Ints = self.fences[self.columns.outcome[self.fences] == OK]
        return acknowledged

    @cached_property
    def _settled_zones(self) -> Ints:
        return np.flatnonzero(self.settled != UNRANKED)

    @cached_property
    def read_zone(self) -> Ints:
        """The zone of each read of `reads`."""
        place = np.empty(len(self.columns), dtype=np.int64)
        place[self.write] = np.arange(self.initials, self.initials + len(self.write))
        zones: Ints = place[self.read_write]
        return zones

    @cached_property
    def all_reads(self) -> tuple[Ints, Ints]:
        """Every read that has a zone, and its zone; those of initial values first."""
        if not len(self.initial_reads):
            return self.reads, self.read_zone
        initial = self.columns.resource[self.initial_reads]
        return np.concatenate((self.initial_reads, self.reads)), np.concatenate((initial, self.read_zone))

    @cached_property
    def _reads_by_zone(self) -> tuple[Ints, Ints]:
        reads, zones = self.all_reads
        order = stable_order(zones)
        return reads[order], zones[order]

    def reads_of(self, zone: int) -> Ints:
        """The rows of the reads of a zone, in the order of their calls."""
        reads, zones = self._reads_by_zone
        first, last = np.searchsorted(zones, (zone, zone + 1))
        return reads[first:last]

    def zone(self, place: int) -> Zone:
        """One zone as an object."""
        reads = self.operations(self.reads_of(place))
        if place < self.initials:
            return initial_zone(self.header, reads)
        write = self.ops[int(self.write[place - self.initials])]
        return written_zone(write, reads, (), acknowledged=write.outcome is Outcome.OK)

    def operations(self, rows: Ints) -> Sequence[Op]:
        """Rows as operations."""
        return list(self.ops.at(rows))

    def misreads(self) -> Iterator[Conflict]:
        """Reads that no write explains, and failed writes that were read."""
        found: list[tuple[int, Conflict]] = []
        for rule, reads, writes in self._misreads:
            because = [()] * len(reads) if writes is None else [(op,) for op in self.operations(writes)]
            for read, others in zip(self.operations(reads), because, strict=True):
                found.append((read.index, misread(rule, read, *others)))
        of_ghosts = np.flatnonzero(self.columns.outcome[self.read_write] == FAIL)
        first = of_ghosts[~is_repeated(self.read_write[of_ghosts])]
        for read, write in zip(
            self.operations(self.reads[first]), self.operations(self.read_write[first]), strict=True
        ):
            ghost = Conflict(anomaly="ghost-write", rule=Rule.FAILED_BUT_READ, accused=write, because=(read,))
            found.append((read.index, ghost))
        return (conflict for _, conflict in sorted(found, key=lambda each: each[0]))

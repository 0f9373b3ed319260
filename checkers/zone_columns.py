"""The zones of all registers at once, as columns: what `zones` says of one, for many operations.

Nothing here knows a commit log. Moments are ranks and tokens are heights (see
`ranks`). The zones are those of the initial values, by resource, and then
those of the writes that took effect, in the order of their calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from checkers.columns import (
    FAIL,
    FENCE,
    INFO,
    OK,
    READ,
    WRITE,
    Columns,
    Flags,
    Ints,
    Operations,
)
from checkers.conflict import Conflict, Rule
from checkers.ranks import UNRANKED, Summit, heights, is_repeated, rank, stable_order
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
        self._sort_writes(self._sort_reads())

    def _sort_reads(self) -> Flags:
        """Give each ok read the zone of its value, as far as it has one; say which writes were read."""
        columns = self.columns
        writes = columns.rows(WRITE)
        writer = np.full(len(columns.values), -1, dtype=np.int64)
        writer[columns.value[writes]] = writes
        reads = columns.rows(READ)
        reads = reads[columns.outcome[reads] == OK]
        write = writer[columns.value[reads]]
        write[columns.resource[write] != columns.resource[reads]] = -1
        of_nobody = write < 0
        initial = (columns.value[reads] == columns.initial) & (
            columns.token[reads] == self.header.initial_token
        )
        wrong_token = ~of_nobody & (columns.token[write] != columns.token[reads])
        too_early = ~of_nobody & ~wrong_token & (self.ranks.returned[reads] < self.ranks.called[write])
        good = ~of_nobody & ~wrong_token & ~too_early
        self.initial_reads = reads[of_nobody & initial]
        self.reads, self.read_write = reads[good], write[good]
        self._misreads = [
            (Rule.VALUE_OF_NOBODY, reads[of_nobody & ~initial], None),
            (Rule.VALUE_WITH_WRONG_TOKEN, reads[wrong_token], write[wrong_token]),
            (Rule.READ_BEFORE_WRITTEN, reads[too_early], write[too_early]),
        ]
        was_read = np.zeros(len(columns), dtype=np.bool_)
        was_read[self.read_write] = True
        return was_read

    def _sort_writes(self, was_read: Flags) -> None:
        columns, ranks = self.columns, self.ranks
        writes = columns.rows(WRITE)
        outcome, read = columns.outcome[writes], was_read[writes]
        self.write = writes[(outcome == OK) | read]  # of each zone but the initial ones
        self.optional = writes[(outcome == INFO) & ~read]
        self.is_ghost = columns.outcome[self.write] == FAIL
        stale = [number for number, error in enumerate(columns.errors) if error == "stale"]
        refused = (outcome == FAIL) & np.isin(columns.error[writes], stale)
        self.rejected = writes[refused & ~read]
        fences = columns.rows(FENCE)
        self.fences = fences[columns.outcome[fences] != FAIL]

        settled = np.where(columns.outcome == OK, ranks.returned, UNRANKED)
        np.minimum.at(settled, self.read_write, ranks.returned[self.reads])
        claimed = ranks.called.copy()
        np.maximum.at(claimed, self.read_write, ranks.called[self.reads])
        initial_claimed = ranks.start.copy()
        np.maximum.at(initial_claimed, columns.resource[self.initial_reads], ranks.called[self.initial_reads])
        self.initials = len(columns.resources)
        self.settled = np.concatenate((ranks.start, settled[self.write]))
        self.claimed = np.concatenate((initial_claimed, claimed[self.write]))
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
        place = int(known[entry])
        return () if place < self.initials else self.zone(place).proof

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
        place = np.zeros(len(self.columns), dtype=np.int64)
        place[self.write] = np.arange(self.initials, self.initials + len(self.write))
        zones: Ints = place[self.read_write]
        return zones

    @cached_property
    def all_reads(self) -> tuple[Ints, Ints]:
        """Every read that has a zone, and its zone; those of initial values first."""
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

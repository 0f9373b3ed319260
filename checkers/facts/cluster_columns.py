"""The zones of all registers as columns; `clusters` defines a zone.

Moments are ranks and tokens are heights (see `ranks`). The zones of the initial values come
first, by resource. The zones of the writes that took effect follow, by call: first the writes
with a token, then the *bare* ones, which no fence can put in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from checkers.facts.clusters import BELOW_ALL, Zone, initial_zone, written_zone
from checkers.facts.evidence import Evidence
from checkers.facts.log_columns import LogColumns
from checkers.facts.recorded import Recorded, recorded
from checkers.facts.shown_appends import ShownAppends, shown_appends
from checkers.history.columns import ABSENT, FAIL, FENCE, INFO, OK, Columns, Flags, Ints, indices
from checkers.history.memoized import memoized
from checkers.history.ranks import UNRANKED, Summit, stable_order
from checkers.history.records import Op


@memoized
def zones_of(evidence: Evidence) -> ZoneColumns:
    """Return the zones of a history; the commit log, if any, says which writes took effect."""
    return ZoneColumns(recorded(evidence), evidence.log, shown_appends(evidence))


def was_rejected(columns: Columns, rows: Ints) -> Flags:
    """Which of these writes and fences were refused as stale?"""
    stale = columns.errors.index("stale") if "stale" in columns.errors else len(columns.errors)
    rejected: Flags = (columns.outcome[rows] == FAIL) & (columns.error[rows] == stale)
    return rejected


class ZoneColumns:
    """The zones of a history, and the other writes, as arrays with one place for each.

    With a commit log, a write took effect iff it is in the log, its value was read, or its element
    is in a list that was read.
    """

    def __init__(self, recorded: Recorded, log: LogColumns | None, shown: ShownAppends) -> None:
        self.recorded = recorded
        self.shown = shown
        self.header = recorded.header
        self.ops = recorded.ops
        self.columns = recorded.columns
        self.ranks = recorded.ranks
        self.height, self.initial_height = recorded.height, recorded.initial_height
        self.writes, self.fences = recorded.writes, recorded.fences
        self.log = log
        self._made: dict[int, Zone] = {}
        self._sort_reads()
        self._sort_writes()
        self._bound_zones()

    def _sort_reads(self) -> None:
        """Find the write of each ok read's value, if the read can have returned that write."""
        columns, ranks = self.columns, self.ranks
        reads, write = self.recorded.reads, self.recorded.writer
        is_unmatched = self._is_unmatched(reads)
        read_token, token = columns.token[reads], columns.token[write]
        is_same = (token == read_token) | (token == ABSENT) | (read_token == ABSENT) | is_unmatched
        is_after = ranks.returned[reads] >= ranks.called[write]
        can_be = (write >= 0) & is_same & is_after
        good, others = indices(can_be), indices(~can_be)
        self.reads, self.read_write = reads[good], write[good]
        self._sort_misreads(reads[others], write[others], is_same[others], is_unmatched[others])

    def _is_unmatched(self, reads: Ints) -> Flags:
        """Which reads returned a value that the log has there, but not as it was sent?"""
        if self.log is None or not len(self.log.unmatched_positions):
            return np.zeros(len(reads), dtype=np.bool_)
        log, columns = self.log, self.columns
        unmatched = log.unmatched_positions
        unmatched = unmatched[~log.fence[unmatched] & (log.value[unmatched] >= 0)]
        values = len(columns.values)
        keys = log.resource[unmatched] * values + log.value[unmatched]
        return np.isin(columns.resource[reads] * values + columns.value[reads], keys)

    def _sort_misreads(self, reads: Ints, write: Ints, is_same: Flags, is_unmatched: Flags) -> None:
        """Separate reads of the initial values from wrong ones, among the reads that no write explains."""
        unwritten, initial = write < 0, self.recorded.are_initial(reads)
        wrong_token = ~unwritten & ~is_same
        too_early = ~unwritten & is_same
        unknown = unwritten & ~initial & ~is_unmatched
        self.initial_reads = reads[unwritten & initial]
        self.unwritten_reads = reads[unknown]
        self.wrong_token_reads = reads[wrong_token], write[wrong_token]
        self.early_reads = reads[too_early], write[too_early]

    def _sort_writes(self) -> None:
        """Separate the writes that took effect (a zone each), that may have, and that were rejected.

        A write that failed for another reason is none of these: no fence saw it. Fences can be rejected, too.
        """
        columns, log = self.columns, self.log
        self.acknowledged = columns.outcome == OK
        took_effect = self.acknowledged.copy()
        if log is not None:
            logged = log.first_of_row >= 0
            self.acknowledged &= logged
            took_effect = logged.copy()
        took_effect[self.read_write] = True
        took_effect[self._shown[0]] = True
        write = self.writes[took_effect[self.writes]]
        bare = columns.token[write] == ABSENT
        self.write = np.concatenate((write[~bare], write[bare]))
        self.initials = len(columns.resources)
        self.bare = self.initials + len(write) - int(np.count_nonzero(bare))
        self.is_ghost = columns.outcome[self.write] == FAIL
        others = self.writes[~took_effect[self.writes]]
        others = others[columns.token[others] != ABSENT]  # without a token, none can have raised the mark
        self.optional = others[columns.outcome[others] == (INFO if log is None else OK)]
        fences = columns.rows(FENCE)
        fences = fences[~took_effect[fences] & (columns.token[fences] != ABSENT)]
        refused = np.concatenate((others, fences))
        self.rejected = np.sort(refused[was_rejected(columns, refused)])

    def _bound_zones(self) -> None:
        """Find when each zone had surely begun, and until when it surely lasted."""
        columns, ranks = self.columns, self.ranks
        own = np.where(self.acknowledged[self.write], ranks.returned[self.write], UNRANKED)
        self.settled = np.concatenate((ranks.start, own))
        np.minimum.at(self.settled, self.read_zone, ranks.returned[self.reads])
        shown, by = self._shown
        np.minimum.at(self.settled, self.zone_of_row[shown], ranks.returned[by])
        self.claimed = np.concatenate((ranks.start, ranks.called[self.write]))
        np.maximum.at(self.claimed, self.read_zone, ranks.called[self.reads])
        initial = columns.resource[self.initial_reads]
        np.maximum.at(self.claimed, initial, ranks.called[self.initial_reads])
        self.level = np.concatenate((self.initial_height, self.height[self.write]))
        self.resource = np.concatenate((np.arange(self.initials), columns.resource[self.write]))

    @cached_property
    def _shown(self) -> tuple[Ints, Ints]:
        """The rows of the appends that a read list shows, and of the readers that returned these lists."""
        readers = ((append, self.shown.by[append.index]) for append in self.shown.appends)
        shown = [(append, by) for append, by in readers if by.returned is not None]
        return self.ops.rows_of(each for each, _ in shown), self.ops.rows_of(by for _, by in shown)

    @property
    def fenced_write(self) -> Ints:
        """The rows of the writes of zones, except the bare ones."""
        return self.write[: self.bare - self.initials]

    @cached_property
    def token(self) -> Ints:
        """The token of each zone, as `Zone` has it."""
        own = self.columns.token[self.write]
        initial = np.full(self.initials, self.header.initial_token, dtype=np.int64)
        return np.concatenate((initial, np.where(own == ABSENT, BELOW_ALL, own)))

    @cached_property
    def mark(self) -> Summit:
        """The mark that had surely been reached before a moment; its entries are zones."""
        known = self._settled_zones
        return Summit(self.ranks.size, self.settled[known], self.level[known])

    @cached_property
    def mark_with_fences(self) -> Summit:
        """The same, counting acknowledged fences, too; these are the entries after the zones."""
        if not len(self.acknowledged_fences):
            return self.mark
        known, fences = self._settled_zones, self.acknowledged_fences
        return Summit(
            self.ranks.size,
            np.concatenate((self.settled[known], self.ranks.returned[fences])),
            np.concatenate((self.level[known], self.height[fences])),
        )

    def proof(self, entry: int) -> tuple[Op, ...]:
        """Return the operations that prove an entry of a mark; none for an initial value."""
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
        return indices(self.settled[: self.bare] != UNRANKED)

    @cached_property
    def read_zone(self) -> Ints:
        """The zone of each read of `reads`."""
        return self.zone_of_row[self.read_write]

    @cached_property
    def zone_of_row(self) -> Ints:
        """The zone of each row's write, or -1 if it did not take effect."""
        place = np.full(len(self.columns), -1, dtype=np.int64)
        place[self.write] = np.arange(self.initials, self.initials + len(self.write))
        return place

    def first_read_of_write(self, row: int) -> tuple[Op, ...]:
        """Return the read of a write's value that was called first, if there is one."""
        return tuple(self.operations(self.reads_of(int(self.zone_of_row[row]))[:1]))

    @cached_property
    def all_reads(self) -> tuple[Ints, Ints]:
        """Every read that has a zone, and its zone; the reads of initial values first."""
        if not len(self.initial_reads):
            return self.reads, self.read_zone
        initial = self.columns.resource[self.initial_reads]
        return np.concatenate((self.initial_reads, self.reads)), np.concatenate((initial, self.read_zone))

    @cached_property
    def _reads_by_zone(self) -> tuple[Ints, Ints]:
        reads, zones = self.all_reads
        order = stable_order(zones)
        return reads[order], zones[order]

    @cached_property
    def read_by(self) -> Ints:
        """When the first read of each zone returned; UNRANKED if it was never read."""
        reads, zones = self.all_reads
        first = np.full(len(self.level), UNRANKED, dtype=np.int64)
        np.minimum.at(first, zones, self.ranks.returned[reads])
        return first

    @cached_property
    def zone_of_read(self) -> Ints:
        """The zone of each row's read, or -1 if it has none."""
        reads, zones = self.all_reads
        found = np.full(len(self.columns), -1, dtype=np.int64)
        found[reads] = zones
        return found

    def of_resource(self, resource: int) -> Ints:
        """Return the places of a resource's zones, beginning with its initial value's."""
        order, resources = self._by_resource
        first, last = np.searchsorted(resources, (resource, resource + 1))
        return order[first:last]

    @cached_property
    def _by_resource(self) -> tuple[Ints, Ints]:
        order = stable_order(self.resource)
        return order, self.resource[order]

    def reads_of(self, zone: int) -> Ints:
        """Return the rows of the reads of a zone, by call."""
        reads, zones = self._reads_by_zone
        first, last = np.searchsorted(zones, (zone, zone + 1))
        return reads[first:last]

    def zone(self, place: int) -> Zone:
        """Return one zone as an object."""
        if place not in self._made:
            self._made[place] = self._zone(place)
        return self._made[place]

    def _zone(self, place: int) -> Zone:
        reads = self.operations(self.reads_of(place))
        if place < self.initials:
            return initial_zone(self.header, reads)
        row = int(self.write[place - self.initials])
        write = self.ops[row]
        shown_by = self.shown.by.get(write.index)
        return written_zone(write, reads, shown_by=shown_by, acknowledged=bool(self.acknowledged[row]))

    def operations(self, rows: Ints) -> Sequence[Op]:
        """Return rows as operations."""
        return list(self.ops.at(rows))

    def write_of(self, zone: int) -> Op:
        """Return the write of a zone that is not an initial value's."""
        return self.ops[int(self.write[zone - self.initials])]

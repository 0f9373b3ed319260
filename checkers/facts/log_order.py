"""How far the log of each resource had got at each moment, by what the clients saw.

The log fixes the place of every write and fence. A read comes after the write whose value it
returned and before the next one. *Reached* is the highest place that the log had surely got to
when an operation was called.

- A write had taken effect when its ok returned, so the log had reached its first place. None of
  its places (it may be logged twice) can have been passed when it was called.
- A read goes after the lowest place of its value that had not been replaced. A value that
  was logged twice can be read after either, and the lowest leaves the most room for others.
- If a fence was acknowledged, and fences are logged, the log had reached the first fence with that token. If
  there is none, since the storage logs only what raises the mark, the mark had reached the token.
- If a fenced write was refused, the mark had reached the lowest token that refuses it.

All places are fixed, except for reads of values that were logged twice, which are placed one after
the other. Then *reached* is a prefix maximum over the returns. *Levels* are the positions of the
log, and one more for each resource, for the value from before the run.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from checkers.facts.evidence import Evidence
from checkers.facts.log_columns import LogColumns
from checkers.facts.read_places import ReadPlaces, read_places
from checkers.facts.recorded import Recorded, recorded
from checkers.history.columns import ABSENT, FENCE, NO_ROWS, OK, READ, Ints, indices
from checkers.history.memoized import memoized
from checkers.history.ranges import NOWHERE
from checkers.history.ranks import UNRANKED, Summit, stable_order
from checkers.history.records import Op


@memoized
def order_of(evidence: Evidence) -> LogOrder | None:
    """Return the order that the log fixes; None without a log."""
    log = evidence.log
    return None if log is None else LogOrder(recorded(evidence), log)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Late:
    """Operations that come too late for their place, resource by resource."""

    rows: Ints
    reached: Ints  # the position that the log had surely reached when each was called
    by: Ints  # the row that shows it
    refusals: Ints  # the row of the refusal without which it would not be known, or NOWHERE


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sightings:
    """The level that had been reached when each row returned, and the refusal that shows it, if any."""

    levels: Ints  # 0: the row shows nothing
    refusals: Ints  # the row of the refusal without which it would not be known, or NOWHERE

    @cached_property
    def rows(self) -> Ints:
        """The rows that show a level."""
        return indices(self.levels > 0)


class LogOrder:
    """The storage's own order, compared with what the clients saw."""

    def __init__(self, recorded: Recorded, log: LogColumns) -> None:
        self.recorded = recorded
        self.log = log
        self._above = np.arange(len(log.resources)) + 2  # level minus position, by resource

    @cached_property
    def late(self) -> Late:
        """The operations that come too late even without refusals as evidence."""
        return self._shown(self._late, self._summit, self._sightings)

    @cached_property
    def starts(self) -> Ints:
        """The earliest rank at which the log can have reached each position.

        By then all operations up to there had been called, except those sent too late for their place.
        """
        misplaced = np.zeros(len(self.recorded.columns) + 1, dtype=np.bool_)
        rows, _ = self._late
        misplaced[rows[self.recorded.columns.f[rows] != READ]] = True
        return np.maximum.accumulate(np.where(misplaced[self.log.row], 0, self._called))

    @cached_property
    def _called(self) -> Ints:
        """The rank at which each position's operation was called; 0 if no client sent it there."""
        return np.append(self.recorded.ranks.called, 0)[self.log.row]

    def late_by_refusals(self, rows: Ints, positions: Ints) -> Late:
        """Return the operations that only these refusals show to be late, by the positions they prove."""
        proved = positions + self._above[self.recorded.columns.resource[rows]]
        if not self.reads.repeated and not self._make_late(rows, proved):
            return Late(rows=NO_ROWS, reached=NO_ROWS, by=NO_ROWS, refusals=NO_ROWS)
        levels, refusals = self._fixed.levels.copy(), self._fixed.refusals.copy()
        levels[rows] = proved
        refusals[rows] = rows
        sightings = self._with_repeated(_Sightings(levels=levels, refusals=refusals))
        summit = self._summit_of(sightings)
        late, reached = self._too_late(summit)
        is_new = ~np.isin(late, self._late[0])
        return self._shown((late[is_new], reached[is_new]), summit, sightings)

    def _make_late(self, refusals: Ints, levels: Ints) -> bool:
        """Do refusals make any operation late? Nearly all refusals prove only what is known already."""
        proved = Summit(self.recorded.ranks.size, self.recorded.ranks.returned[refusals], levels)
        _, called, last = self._placed
        asked = indices(proved.exceeds(self._summit)[called - 1])
        return bool(np.any(proved.before(called[asked]) > last[asked]))

    def first_mark(self, resource: Ints, tokens: Ints, *, above: bool) -> Ints:
        """Return the first position at which the mark was at each token, or above it.

        The position before the resource's first means before the run; the count of all means never.
        """
        log, initial = self.log, self.recorded.header.initial_token
        asked = log.scale.above(resource, tokens) if above else log.scale.heights(resource, tokens)
        found = np.searchsorted(log.marks, asked)
        found = np.where(found < log.end[resource], found, len(log))
        at_start = tokens < initial if above else tokens <= initial
        return np.where(at_start, log.first[resource] - 1, found)

    def first_above(self, resource: Ints, tokens: Ints) -> Ints:
        """Return the earliest rank at which the log can have a token above each; UNRANKED if never.

        An operation sent too late for its place cannot have been there before its call either.
        """
        log, ranks = self.log, self.recorded.ranks
        before = np.append(ranks.start, np.full(len(log.resources) - len(ranks.start), UNRANKED))
        starts = np.maximum(np.maximum(self.starts, self._called), before[log.resource])
        order = stable_order(log.height)
        ever = np.append(np.minimum.accumulate(starts[order][::-1])[::-1], UNRANKED)
        return ever[np.searchsorted(log.height[order], log.scale.above(resource, tokens))]

    def causes(self, rejected: Op, accused: Op) -> list[Op]:
        """Return the first logged possible cause of a rejection that contradicts the accused.

        If the accused is a read, also return the writes that show that its value comes earlier.
        """
        log, columns, ops = self.log, self.recorded.columns, self.recorded.ops
        row = np.array([ops.row(rejected)])
        resource, inclusive = columns.resource[row], self.recorded.header.policy == "inclusive"
        place = int(self.first_mark(resource, columns.token[row], above=inclusive)[0])
        positions = [place]
        if accused.f == "read":
            writes = np.arange(log.first[resource[0]], place + 1)
            writes = writes[~log.fence[writes]]
            own = indices(log.value[writes] == columns.value[ops.row(accused)])
            following = own[-1] + 1 if len(own) else 0
            positions += [*writes[own].tolist(), *writes[following : following + 1].tolist()]
        return list(map(log.op, positions))

    @cached_property
    def missing_fences(self) -> Ints:
        """The fences acknowledged before the mark can have had their token; none if fences are not logged."""
        if not self._are_fences_logged:
            return NO_ROWS
        rows, positions = self._fenced
        missing: Ints = rows[positions == len(self.log)]
        order = self.recorded.order_of_resources[self.recorded.columns.resource[missing]]
        return missing[np.argsort(order, kind="stable")]

    @property
    def _are_fences_logged(self) -> bool:
        return self.log.has_fences and self.recorded.header.fenced

    @cached_property
    def _fenced(self) -> tuple[Ints, Ints]:
        """The acknowledged fences, and the position that each shows to be reached; the end if missing."""
        log, columns, ranks = self.log, self.recorded.columns, self.recorded.ranks
        rows = indices((columns.f == FENCE) & (columns.outcome == OK) & (columns.token != ABSENT))
        resource, tokens = columns.resource[rows], columns.token[rows]
        found = self.first_mark(resource, tokens, above=False)
        raised = indices((found >= log.first[resource]) & (found < len(log)))
        too_late = np.maximum.accumulate(self._called)[found[raised]] > ranks.returned[rows[raised]]
        found[raised[too_late]] = len(log)
        fences = indices(log.fence)
        if not len(fences):  # this part of a log has none; another part does
            return rows, found
        fences = fences[stable_order(log.height[fences])]
        place = np.searchsorted(log.height[fences], log.scale.heights(resource, tokens))
        fence = fences[np.minimum(place, len(fences) - 1)]
        same = (log.token[fence] == tokens) & (log.resource[fence] == resource)
        return rows, np.where(same, fence, found)

    @cached_property
    def _fixed(self) -> _Sightings:
        """The sightings of all operations except reads of values that were logged twice."""
        log, columns, writes, reads = self.log, self.recorded.columns, self.recorded.writes, self.reads
        position = np.full(len(columns), NOWHERE - 1, dtype=np.int64)
        stored = writes[(columns.outcome[writes] == OK) & (log.first_of_row[writes] >= 0)]
        position[stored] = log.first_of_row[stored]
        position[reads.rows] = reads.first
        if self._are_fences_logged:
            fences, reached = self._fenced
            known = reached < len(log)
            position[fences[known]] = reached[known]
        position[list(reads.repeated)] = NOWHERE - 1
        levels = np.where(position < NOWHERE, 0, position + self._above[columns.resource])
        return _Sightings(levels=levels, refusals=np.full(len(columns), NOWHERE, dtype=np.int64))

    @cached_property
    def _sightings(self) -> _Sightings:
        return self._with_repeated(self._fixed)

    @cached_property
    def _summit(self) -> Summit:
        return self._summit_of(self._sightings)

    def _summit_of(self, sightings: _Sightings) -> Summit:
        rows, ranks = sightings.rows, self.recorded.ranks
        return Summit(ranks.size, ranks.returned[rows], sightings.levels[rows])

    @cached_property
    def _late(self) -> tuple[Ints, Ints]:
        return self._too_late(self._summit)

    def _too_late(self, summit: Summit) -> tuple[Ints, Ints]:
        """Return the rows that come too late for their place, resource by resource, and the level reached."""
        rows, called, last = self._placed
        reached = summit.before(called)
        late = indices(reached > last)
        rows, reached = rows[late], reached[late]
        order = np.lexsort((rows, self.recorded.order_of_resources[self.recorded.columns.resource[rows]]))
        return rows[order], reached[order]

    @cached_property
    def _placed(self) -> tuple[Ints, Ints, Ints]:
        """The rows that have a place, the ranks of their calls, and the last level that fits each."""
        log, columns, reads = self.log, self.recorded.columns, self.reads
        stored = indices(log.first_of_row >= 0)
        rows = np.concatenate((stored, reads.rows))
        last = np.concatenate((log.first_of_row[stored], log.following[reads.last + 1] - 1))
        last += self._above[columns.resource[rows]]
        return rows, self.recorded.ranks.called[rows], last

    def _shown(self, late: tuple[Ints, Ints], summit: Summit, sightings: _Sightings) -> Late:
        rows, levels = late
        by = rows
        if len(rows):
            by = sightings.rows[summit.entries_before(self.recorded.ranks.called[rows])]
        reached = levels - self._above[self.recorded.columns.resource[rows]]
        return Late(rows=rows, reached=reached, by=by, refusals=sightings.refusals[by])

    def as_stored(self, row: int) -> Op:
        """Return a row's operation, with a write or fence as the log has it."""
        position = int(self.log.first_of_row[row])
        return self.recorded.ops[row] if position < 0 else self.log.op(position)

    @cached_property
    def reads(self) -> ReadPlaces:
        """The positions of each read's value in the log."""
        return read_places(self.recorded, self.log)

    def _with_repeated(self, fixed: _Sightings) -> _Sightings:
        """Place the reads of values that were logged twice, one after the other, by call."""
        repeated = self.reads.repeated
        if not repeated:
            return fixed
        rows = np.array(list(repeated))
        columns, ranks = self.recorded.columns, self.recorded.ranks
        levels, refusals = fixed.levels.copy(), fixed.refusals.copy()
        answered = np.union1d(fixed.rows, rows)
        answered = answered[stable_order(ranks.returned[answered])]
        returned = ranks.returned[answered]
        upto = reached = 0
        by = NOWHERE
        for row in rows[stable_order(ranks.called[rows])].tolist():
            end = int(np.searchsorted(returned, ranks.called[row]))
            if end > upto:
                between = answered[upto:end]
                highest = between[np.argmax(levels[between])]
                if levels[highest] > reached:
                    reached, by = int(levels[highest]), int(highest)
                upto = end
            above = int(self._above[columns.resource[row]])
            places = repeated[row]
            free = bisect_right(places, reached - above, key=lambda place: self.log.following[place + 1])
            if free < len(places):  # otherwise the read came too late, and shows nothing more
                levels[row] = places[free] + above
                if free:
                    refusals[row] = refusals[by]
        return _Sightings(levels=levels, refusals=refusals)

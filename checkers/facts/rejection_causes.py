"""The tokens that the mark of a fenced storage reached, and those that can have caused a rejection.

A fenced storage accepts writes in the order of their tokens, so its mark passes through fixed *levels*. A
level can be reached at its *start* at the earliest: when an operation that raised the mark to it was called.
The cause of a rejection is the lowest level that is high enough and had started when the rejection returned.
A level that was certainly reached, but started later, hides all levels above it.

With a commit log, what raised the mark is logged, or was there for a while: an acknowledged write or
fence, a write that was read, anything without an answer that a restart of the storage may have undone, and
any fence if the log has no fences. No restart has undone a logged operation. If several fences have one
token, the log has one of them and does not say which. Logged operations, from any client, are in order and
have the token that was stored: none took effect before all operations up to it had been called.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.log_order import order_of
from checkers.facts.recorded import last_restart
from checkers.history.columns import ABSENT, FENCE, INFO, NO_ROWS, Flags, Ints, indices
from checkers.history.memoized import memoized
from checkers.history.ranges import NOWHERE, first_at_most
from checkers.history.ranks import UNRANKED, distinct, places_in, stable_order


def refused_heights(zones: ZoneColumns) -> Ints:
    """Return the lowest mark that refuses each rejected write."""
    heights: Ints = zones.height[zones.rejected] + (zones.header.policy == "inclusive")
    return heights


def were_shut_out(zones: ZoneColumns) -> bool:
    """Had the storage surely accepted, before each rejected write was called, a token that refuses it?

    If so, and if nothing else is wrong, all rejections are right: each is caused by that token or a
    lower one, and any operation called after the rejection with a lower token is stale already.
    """
    called = zones.ranks.called[zones.rejected]
    return bool((zones.mark.before(called) >= refused_heights(zones)).all())


@dataclass(frozen=True, kw_only=True, eq=False)
class Causes:
    """The levels, and those that refuse each rejected write; the count of all levels means none."""

    levels: Levels
    in_time: Ints  # the lowest level that refuses each and had started when it returned
    definite: Ints  # the lowest that refuses each and was certainly reached: it hides all above it
    by_used_up: Flags  # may another write with the token of a known one have refused it? (strict)

    @cached_property
    def cause(self) -> Ints:
        """The level that can have caused each; NOWHERE if none had started, or a later one hides it."""
        can_be = (self.in_time <= self.definite) & (self.in_time < len(self.levels.height))
        return np.where(can_be, self.in_time, NOWHERE)

    @property
    def is_without(self) -> Flags:
        """Which rejections returned before anything that refuses them had been called?"""
        without: Flags = (self.in_time == len(self.levels.height)) & ~self.by_used_up
        return without


def causes(zones: ZoneColumns, broken: Flags) -> Causes:
    """Return the possible causes of each rejection; `broken` marks the zones of stale writes."""
    levels = _levels(zones, broken)
    least = places_in(levels.height, refused_heights(zones))
    count = len(levels.height)
    definite = np.append(np.where(levels.definite, np.arange(count), count), count)
    returned = zones.ranks.returned[zones.rejected]
    return Causes(
        levels=levels,
        in_time=first_at_most(levels.start, least, returned),
        by_used_up=first_call(zones, levels.used_up, refused_heights(zones)) <= returned,
        definite=np.minimum.accumulate(definite[::-1])[::-1][least],
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Levels:
    """The tokens that the marks reached, or may have: lowest first, resource by resource."""

    height: Ints
    definite: Flags
    start: Ints  # rank; the mark cannot have reached it earlier
    firsts: Ints  # places of zones that can have been the first of their level
    first_levels: Ints  # and their levels
    used_up: Ints  # the rows of writes that took no effect, or one with the same token is stale (strict)

    @cached_property
    def first_of_each(self) -> Ints:
        """The zone that can have been the first of each level; if several can, the one sent first."""
        first = np.full(len(self.height), UNRANKED, dtype=np.int64)
        np.minimum.at(first, self.first_levels, self.firsts)
        return first


def _levels(zones: ZoneColumns, broken: Flags) -> Levels:
    sure = indices(~broken & (zones.level >= zones.initial_height[zones.resource]))
    raising = np.concatenate((zones.optional, zones.fences))
    raising = raising[zones.height[raising] >= zones.initial_height[zones.columns.resource[raising]]]
    height, level = distinct(np.concatenate((zones.level[sure], zones.height[raising])))
    level, raised = level[: len(sure)], level[len(sure) :]
    definite = np.zeros(len(height), dtype=np.bool_)
    definite[level] = True
    used_up = NO_ROWS
    if zones.header.policy == "strict":  # one write uses a token up
        may_raise = ~definite[raised] | (zones.columns.f[raising] == FENCE)
        used_up = raising[~may_raise]
        raising, raised = raising[may_raise], raised[may_raise]
    firsts, first_levels = _possible_firsts(zones, sure, level, len(height))
    start = np.full(len(height), UNRANKED)
    np.minimum.at(start, first_levels, called_of_zones(zones, firsts))
    np.minimum.at(start, raised, zones.ranks.called[raising])
    start[level[: zones.initials]] = zones.ranks.start
    return Levels(
        height=height,
        definite=definite,
        start=start,
        firsts=firsts,
        first_levels=first_levels,
        used_up=used_up,
    )


def _possible_firsts(zones: ZoneColumns, places: Ints, level: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the zones that no other zone of their level surely preceded, and their levels."""
    if len(places) == count:  # one each
        return places, level
    settled, claimed = zones.settled[places], zones.claimed[places]
    earliest = np.full(count, UNRANKED)
    np.minimum.at(earliest, level, settled)
    one = np.zeros_like(earliest)
    at_earliest = indices(settled == earliest[level])
    one[level[at_earliest]] = at_earliest
    is_one = one[level] == np.arange(len(level))
    next_earliest = np.full_like(earliest, UNRANKED)
    np.minimum.at(next_earliest, level[~is_one], settled[~is_one])
    possible = claimed <= np.where(is_one, next_earliest[level], earliest[level])
    any_possible = np.zeros(count, dtype=np.bool_)
    any_possible[level[possible]] = True
    possible |= ~any_possible[level]  # none: a flip-flop, which another rule finds
    return places[possible], level[possible]


def called_of_zones(zones: ZoneColumns, places: Ints) -> Ints:
    """Return when each zone's write was called: before the run for initial values."""
    if not len(zones.write):
        return zones.ranks.start[places]
    initial = places < zones.initials
    write = zones.write[np.where(initial, 0, places - zones.initials)]
    called: Ints = np.where(initial, zones.ranks.start[zones.resource[places]], zones.ranks.called[write])
    return called


def first_call(zones: ZoneColumns, rows: Ints, heights: Ints) -> Ints:
    """Return, for each height, when the first of these rows with that height or a higher one was called.

    Rows of a later resource have higher ranks than all rows of an earlier one.
    """
    order = stable_order(zones.height[rows])
    called = zones.ranks.called[rows][order]
    ever = np.append(np.minimum.accumulate(called[::-1])[::-1], UNRANKED)
    return ever[np.searchsorted(zones.height[rows][order], heights)]


def refusals_by_one(zones: ZoneColumns) -> Ints:
    """Return, for each zone, the row of a refusal that only its write can have caused, or NOWHERE.

    By the return of that refusal the write had been accepted.
    """
    found = np.full(len(zones.level), NOWHERE)
    rows = np.concatenate((zones.fenced_write, zones.optional, zones.fences))
    if not len(zones.rejected) or not len(rows):
        return found
    rows = rows[stable_order(zones.height[rows])[::-1]]  # the highest first
    called = zones.ranks.called[rows]
    first = np.minimum.accumulate(called)
    second = np.append(UNRANKED, np.minimum.accumulate(np.maximum(first[:-1], called[1:])))
    heights, returned = refused_heights(zones), zones.ranks.returned[zones.rejected]
    last = len(rows) - 1 - np.searchsorted(zones.height[rows][::-1], heights)
    is_one = heights > zones.initial_height[zones.columns.resource[zones.rejected]]
    is_one &= (last >= 0) & (first[last] <= returned) & (second[last] > returned)
    by_call = np.argsort(called)
    cause = rows[by_call[np.searchsorted(called[by_call], first[last[is_one]])]]
    zone, refused = zones.zone_of_row[cause], zones.rejected[is_one]
    took_effect = zone != NOWHERE
    found[zone[took_effect]] = refused[took_effect]
    return found


def may_be_below(evidence: Evidence, rejected: Ints) -> Flags:
    """Which of these rejected writes may have met a higher token than theirs, of another write or fence?"""
    zones, order = zones_of(evidence), order_of(evidence)
    above, returned = zones.height[rejected] + 1, zones.ranks.returned[rejected]
    # closed intervals: an operation called when a rejection returned can have caused it
    if order is None:
        raising = np.concatenate((zones.fenced_write, zones.optional, zones.fences))
        return first_call(zones, raising, above) <= returned
    lacked = _lacked(evidence)
    may_be_undone = zones.columns.called[rejected] <= last_restart(evidence)
    by_undone = may_be_undone & (first_call(zones, lacked.undone, above) <= returned)
    fences = zones.acknowledged_fences
    at_start = fences[zones.columns.token[fences] <= zones.header.initial_token]  # a log may lack these
    by_other = first_call(zones, np.concatenate((lacked.others, at_start)), above) <= returned
    columns = zones.columns
    logged = order.first_above(columns.resource[rejected], columns.token[rejected])
    return by_undone | by_other | (logged <= order.recorded.ranks.returned[rejected])


def unlogged(evidence: Evidence) -> Ints:
    """Return the rows of the unlogged operations that may have raised the mark for a while."""
    return np.concatenate(_lacked(evidence))


class _Lacked(NamedTuple):
    """The rows of the unlogged operations that may have raised the mark for a while."""

    undone: Ints  # by a restart, if they ever took effect
    others: Ints


@memoized
def _lacked(evidence: Evidence) -> _Lacked:
    zones, order = zones_of(evidence), order_of(evidence)
    if order is None:
        return _Lacked(NO_ROWS, NO_ROWS)
    columns, log = zones.columns, order.log
    is_logged = log.first_of_row >= 0
    may_be_undone = (columns.outcome == INFO) & (columns.called <= last_restart(evidence))
    writes = zones.writes[columns.token[zones.writes] != ABSENT]
    undone = writes[may_be_undone[writes] & ~is_logged[writes]]
    seen = zones.fenced_write[~is_logged[zones.fenced_write]]
    fences = zones.fences
    if log.has_fences:
        may_be_another = ~is_logged[fences] | _shares_its_token(zones, fences)
        undone = np.concatenate((undone, fences[may_be_undone[fences] & may_be_another]))
        fences = order.missing_fences
    return _Lacked(undone, np.concatenate((seen, zones.optional, fences)))


def _shares_its_token(zones: ZoneColumns, fences: Ints) -> Flags:
    """Which fences have the same token as another one?"""
    different, numbers = distinct(zones.height[fences])
    return np.bincount(numbers, minlength=len(different))[numbers] > 1

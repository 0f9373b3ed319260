"""Had each rejected write a cause, and does everything after it agree with that cause?

A fence refuses a token because of a newer one (strict: or an equal one) that it has
met. The accepted writes of a fenced storage are in the order of their tokens, so
the mark passes through fixed *levels*. A level can be reached at its *start* at the
earliest: when something that raised the mark to it was called.

The cause of a rejection is the lowest level high enough that had started when the
rejection returned. A level that was certainly reached, but started later, hides
those above it. If there is no cause, the rejection was false. If there is one, the
mark had been there at the latest when the rejection returned, and nothing that was
called after that can have taken effect below it.

Where no fence is promised, tokens are in no order and nothing hides anything: a
rejection is false iff nothing with a high enough token can have been accepted
before it returned.

With a commit log the mark is known at each place, whoever raised it. The cause is the first
place with a mark high enough, and the log can have got there once all that comes up to there
had been called. What the log lacks may be the cause only if it may have been there for a
while: an acknowledged write, anything that a restart of the storage may have undone, and a
fence where the log has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.conflict import Conflict, Rule
from checkers.history.columns import ABSENT, FENCE, INFO, READ, Flags, Ints, indices
from checkers.history.ranks import UNRANKED, Summit, distinct, places_in, stable_order
from checkers.storage.cluster_columns import ZoneColumns
from checkers.storage.commit_order import CommitOrder
from checkers.storage.log_columns import LogColumns

_AT_ONCE = 32  # levels that are tried for all rejections together, before each is looked at alone


def were_shut_out(zones: ZoneColumns) -> bool:
    """Had a token that refuses it surely been accepted before each rejected write was called?

    If nothing else is wrong, no rejection is, then: its cause is that token or a lower one, and had
    something been called after the rejection with a token below, that would be stale already.
    """
    refused = zones.height[zones.rejected] + (zones.header.policy == "inclusive")
    return bool((zones.mark.before(zones.ranks.called[zones.rejected]) >= refused).all())


def of_unfenced(zones: ZoneColumns) -> Iterator[Conflict]:
    """Rejections by storages that promise no fence, though they can have met no newer token."""
    raising = np.concatenate((zones.optional, zones.fences))
    heights = np.concatenate((zones.level, zones.height[raising]))
    starts = np.concatenate((_called(zones, np.arange(len(zones.level))), zones.ranks.called[raising]))
    order = stable_order(heights)
    ever = np.append(np.minimum.accumulate(starts[order][::-1])[::-1], UNRANKED)
    refused = zones.height[zones.rejected] + (zones.header.policy == "inclusive")
    least = np.searchsorted(heights[order], refused)
    uncaused = zones.rejected[ever[least] > zones.ranks.returned[zones.rejected]]
    for rejected in zones.operations(uncaused):
        yield Conflict(anomaly="false-rejection", rule=Rule.NO_CAUSE, accused=rejected)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Levels:
    """The tokens that the marks reached, or may have: lowest first, resource by resource."""

    height: Ints
    definite: Flags
    start: Ints  # rank; the mark cannot have been there before
    firsts: Ints  # places of zones that can have been the first of their level
    first_levels: Ints  # and their levels


def _levels(zones: ZoneColumns, broken: Flags) -> _Levels:
    sure = indices(~broken & (zones.level >= zones.initial_height[zones.resource]))
    raising = np.concatenate((zones.optional, zones.fences))
    raising = raising[zones.height[raising] >= zones.initial_height[zones.columns.resource[raising]]]
    height, level = distinct(np.concatenate((zones.level[sure], zones.height[raising])))
    level, raised = level[: len(sure)], level[len(sure) :]
    definite = np.zeros(len(height), dtype=np.bool_)
    definite[level] = True
    if zones.header.policy == "strict":  # one write uses a token up
        may_raise = ~definite[raised] | (zones.columns.f[raising] == FENCE)
        raising, raised = raising[may_raise], raised[may_raise]
    firsts, first_levels = _possible_firsts(zones, sure, level, len(height))
    start = np.full(len(height), UNRANKED, dtype=np.int64)
    np.minimum.at(start, first_levels, _called(zones, firsts))
    np.minimum.at(start, raised, zones.ranks.called[raising])
    start[level[: zones.initials]] = zones.ranks.start
    return _Levels(height=height, definite=definite, start=start, firsts=firsts, first_levels=first_levels)


def _possible_firsts(zones: ZoneColumns, places: Ints, level: Ints, count: int) -> tuple[Ints, Ints]:
    """The zones that can have been the first of their level: none of the others surely came before.

    With their levels.
    """
    if len(places) == count:  # one each
        return places, level
    settled, claimed = zones.settled[places], zones.claimed[places]
    earliest = np.full(count, UNRANKED, dtype=np.int64)
    np.minimum.at(earliest, level, settled)
    one = np.zeros(count, dtype=np.int64)
    at_earliest = indices(settled == earliest[level])
    one[level[at_earliest]] = at_earliest
    is_one = one[level] == np.arange(len(level))
    next_earliest = np.full(count, UNRANKED, dtype=np.int64)
    np.minimum.at(next_earliest, level[~is_one], settled[~is_one])
    possible = claimed <= np.where(is_one, next_earliest[level], earliest[level])
    any_possible = np.zeros(count, dtype=np.bool_)
    any_possible[level[possible]] = True
    possible |= ~any_possible[level]  # none: a flip-flop, which is told by itself
    return places[possible], level[possible]


def of_fenced(zones: ZoneColumns, broken: Flags, odd: Flags) -> Iterator[Conflict]:
    """Rejections without a cause, and what contradicts the cause that a rejection must have had."""
    levels = _levels(zones, broken)
    rejected = zones.rejected
    returned = zones.ranks.returned[rejected]
    refused = zones.height[rejected] + (zones.header.policy == "inclusive")
    least = places_in(levels.height, refused)
    causes = _causes(levels, least, returned)
    yield from _uncaused(zones, levels, causes, least, returned)
    caused = indices(causes >= 0)
    if len(caused):
        by_value = caused[_first_call(zones, zones.fences, refused[caused]) > returned[caused]]
        height = levels.height[causes]
        mark, mark_of_values = (
            _Caused(by=rejected[each], mark=Summit(zones.ranks.size, returned[each], height[each]))
            for each in (caused, by_value)
        )
        yield from _false_or_stale(zones, mark, mark_of_values, odd)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Caused:
    """Rejections, and the mark that they prove."""

    by: Ints
    mark: Summit


def _causes(levels: _Levels, least: Ints, returned: Ints) -> Ints:
    """The lowest level that can have caused each rejection; -1 if one that came too late hides it."""
    count = len(levels.height)
    ever = np.append(np.minimum.accumulate(levels.start[::-1])[::-1], UNRANKED)
    next_definite = np.append(np.where(levels.definite, np.arange(count), count), count)
    next_definite = np.minimum.accumulate(next_definite[::-1])[::-1]
    causes = np.full(len(least), -1, dtype=np.int64)
    level, left = least.copy(), indices(ever[least] <= returned)
    for _ in range(_AT_ONCE):
        left = left[level[left] <= np.minimum(next_definite[least[left]], count - 1)]
        can_be = levels.start[level[left]] <= returned[left]
        causes[left[can_be]] = level[left[can_be]]
        left = left[~can_be]
        if not len(left):
            break
        level[left] += 1
    for place in left.tolist():
        upto = min(int(next_definite[least[place]]), count - 1) + 1
        can_be_any = indices(levels.start[level[place] : upto] <= returned[place])
        if len(can_be_any):
            causes[place] = level[place] + can_be_any[0]
    return causes


def _uncaused(
    zones: ZoneColumns, levels: _Levels, causes: Ints, least: Ints, returned: Ints
) -> Iterator[Conflict]:
    for place in indices(causes < 0).tolist():
        rejected = zones.ops[int(zones.rejected[place])]
        in_time = levels.start[least[place] :] <= returned[place]
        if not np.any(in_time):
            yield Conflict(anomaly="false-rejection", rule=Rule.NO_CAUSE, accused=rejected)
            continue
        hidden_by = least[place] + np.argmax(levels.definite[least[place] :])
        first = zones.write[levels.firsts[levels.first_levels == hidden_by].min() - zones.initials]
        yield Conflict(
            anomaly="non-linearizable",
            rule=Rule.FALSE_OR_STALE,
            accused=zones.ops[int(first)],
            because=(rejected,),
        )


def _false_or_stale(zones: ZoneColumns, caused: _Caused, by_value: _Caused, odd: Flags) -> Iterator[Conflict]:
    """What was called after a rejection had returned that proves a newer token, and carries an older."""
    written = np.arange(zones.initials, zones.bare)
    late = written[caused.mark.before(zones.ranks.called[zones.fenced_write]) > zones.level[written]]
    late = late[~odd[late]]
    reads, of = zones.all_reads
    old = indices(by_value.mark.before(zones.ranks.called[reads]) > zones.level[of])
    old = old[~odd[of[old]] & (of[old] < zones.bare)]
    row = np.concatenate((zones.write[late - zones.initials], reads[old]))
    place = np.concatenate((late, of[old]))
    is_read = zones.columns.f[row] == READ
    for each in np.lexsort((row, is_read, place)).tolist():
        rejections = by_value if is_read[each] else caused
        entry = rejections.mark.entries_before(zones.ranks.called[row[each : each + 1]])[0]
        yield Conflict(
            anomaly="non-linearizable",
            rule=Rule.FALSE_OR_STALE,
            accused=zones.ops[int(row[each])],
            because=(zones.ops[int(rejections.by[entry])],),
        )


def _called(zones: ZoneColumns, places: Ints) -> Ints:
    """When each zone's write was called; before the run for initial values."""
    if not len(zones.write):
        return zones.ranks.start[places]
    initial = places < zones.initials
    write = zones.write[np.where(initial, 0, places - zones.initials)]
    called: Ints = np.where(initial, zones.ranks.start[zones.resource[places]], zones.ranks.called[write])
    return called


def of_logged(zones: ZoneColumns, log: LogColumns, order: CommitOrder, restarted: int) -> Iterator[Conflict]:
    """Rejections that the log does not explain, and what contradicts the place that explains one.

    `restarted` is until when, in ns, a restart of the storage was in force.
    """
    rejected, columns = zones.rejected, zones.columns
    if not len(rejected):
        return
    inclusive = zones.header.policy == "inclusive"
    resource, returned = columns.resource[rejected], zones.ranks.returned[rejected]
    by_another = _first_call(zones, _unlogged(zones, log, restarted), zones.height[rejected] + inclusive)
    may_be_another = by_another <= returned
    place = order.first_mark(resource, columns.token[rejected], above=inclusive)
    at_start = place < log.first[resource]
    starts = np.append(order.starts, UNRANKED)[place]
    in_time = at_start | ((place < len(log)) & (starts <= returned))
    for row in rejected[~in_time & ~may_be_another].tolist():
        yield Conflict(anomaly="false-rejection", rule=Rule.NO_CAUSE, accused=zones.ops[row])
    caused = in_time & ~may_be_another & (returned != UNRANKED)
    if zones.header.fenced:
        yield from order.contradictions(rejected[caused], place[caused])


def _unlogged(zones: ZoneColumns, log: LogColumns, restarted: int) -> Ints:
    """The rows of what the log lacks, and may have raised the mark for a while."""
    columns = zones.columns
    is_logged = log.first_of_row >= 0
    writes = zones.writes[columns.token[zones.writes] != ABSENT]
    undone = columns.called <= restarted
    may_be_undone = writes[(columns.outcome[writes] == INFO) & ~is_logged[writes] & undone[writes]]
    fences = zones.fences if not log.has_fences else zones.fences[undone[zones.fences]]
    seen = zones.fenced_write[~is_logged[zones.fenced_write]]
    return np.concatenate((seen, zones.optional, may_be_undone, fences))


def _first_call(zones: ZoneColumns, rows: Ints, heights: Ints) -> Ints:
    """When the first of these rows with each height or a higher one was called.

    Those of a later resource have higher ranks than anything of an earlier one.
    """
    order = stable_order(zones.height[rows])
    called = zones.ranks.called[rows][order]
    ever = np.append(np.minimum.accumulate(called[::-1])[::-1], UNRANKED)
    first: Ints = ever[np.searchsorted(zones.height[rows][order], heights)]
    return first

"""The rules of `fencing` without a commit log, for all registers at once and as array passes.

Each function here stands beside the one of the same purpose in `fencing`, which
is the definition: the same conflicts, with the same reasons. An order is kept
only within a register; `observed` puts the registers in theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.columnar.columns import FENCE, READ, WRITE, Flags, Ints
from checkers.columnar.ranks import UNRANKED, Summit, distinct, is_repeated, places_in, stable_order
from checkers.columnar.zone_columns import ZoneColumns
from checkers.conflict import Conflict, Rule, firsts
from checkers.records import Op
from checkers.zones import used_again, went_back

_AT_ONCE = 32  # levels that are tried for all rejections together, before each is looked at alone


def observed(zones: ZoneColumns) -> Iterator[Conflict]:
    """Judge what clients saw, register by register."""
    judge = _fenced if zones.header.fenced else _plain
    conflicts = list(judge(zones))
    if not conflicts:
        return iter(())
    columns = zones.columns
    rows = columns.rows(WRITE, READ, FENCE)
    first = rows[~is_repeated(columns.resource[rows])]
    order = {columns.resources[columns.resource[row]]: place for place, row in enumerate(first.tolist())}
    return firsts(sorted(conflicts, key=lambda conflict: order[conflict.accused.resource]))


def _fenced(zones: ZoneColumns) -> Iterator[Conflict]:
    """Algorithm F."""
    yield from zones.misreads()
    broken = np.zeros(len(zones.level), dtype=np.bool_)
    yield from _stale_writes(zones, broken)
    odd = broken.copy()
    odd[zones.initials :] |= zones.is_ghost
    yield from _stale_reads(zones, odd)
    yield from _reads_after_replaced(zones, odd)
    if zones.header.policy == "inclusive":
        for one, other in _flip_flops(zones, np.flatnonzero(~odd & (zones.settled != UNRANKED)), zones.level):
            yield went_back(zones.zone(one), zones.zone(other))
    if len(zones.rejected):
        yield from _rejections(zones, broken, odd)


def _plain(zones: ZoneColumns) -> Iterator[Conflict]:
    """Algorithm R, and the writes that were stale in every order."""
    yield from zones.misreads()
    known = np.zeros(len(zones.level), dtype=np.bool_)
    yield from _stale_writes(zones, known)
    found = zones.mark.before(zones.claimed[zones.initials :])
    suspects = np.flatnonzero(found > zones.level[zones.initials :]) + zones.initials
    yield from _seen_after_newer(zones, suspects[~known[suspects]])
    if _any_flip_flop(zones):
        settled = np.flatnonzero(zones.settled != UNRANKED)
        for one, other in _flip_flops(zones, settled, zones.resource):
            yield went_back(zones.zone(one), zones.zone(other))
    if len(zones.rejected):
        yield from _unfenced_rejections(zones)


def _unfenced_rejections(zones: ZoneColumns) -> Iterator[Conflict]:
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


def _seen_after_newer(zones: ZoneColumns, suspects: Ints) -> Iterator[Conflict]:
    """Of these, which were read after a newer value had been there, and did not surely come before it?"""
    if not len(suspects):
        return
    by_level = stable_order(zones.level)
    levels = zones.level[by_level]
    newest = zones.mark.before(zones.claimed[suspects])
    firsts, lasts = np.searchsorted(levels, newest, "left"), np.searchsorted(levels, newest, "right")
    for suspect, first, last in zip(suspects.tolist(), firsts.tolist(), lasts.tolist(), strict=True):
        of_level = by_level[first:last]
        newer = int(of_level[zones.settled[of_level] < zones.claimed[suspect]][0])
        if zones.settled[suspect] >= zones.claimed[newer]:
            zone = zones.zone(suspect)
            seen_by = () if zone.claimed_by is None else (zone.claimed_by,)
            yield Conflict(
                anomaly="stale-write",
                rule=Rule.SEEN_AFTER_NEWER,
                accused=_write(zones, suspect),
                because=(*zones.zone(newer).proof, *seen_by),
            )


def _stale_writes(zones: ZoneColumns, broken: Flags) -> Iterator[Conflict]:
    """Writes that came after a newer token; marks their zones as broken."""
    called = zones.ranks.called[zones.write]
    level, mark = zones.level[zones.initials :], zones.mark_with_fences
    found = mark.before(called)
    strict = zones.header.policy == "strict"
    stale = np.flatnonzero(level <= found if strict else level < found)
    broken[zones.initials + stale] = True
    because = (
        [zones.proof(entry) for entry in mark.entries_before(called[stale]).tolist()] if len(stale) else []
    )
    for place, proof in zip(stale.tolist(), because, strict=True):
        rule = Rule.SENT_AFTER_NEWER if proof else Rule.BELOW_THE_START
        yield Conflict(
            anomaly="stale-write",
            rule=rule,
            accused=_write(zones, zones.initials + place),
            because=proof,
        )
    if strict:
        yield from _second_uses(zones, broken)


def _second_uses(zones: ZoneColumns, broken: Flags) -> Iterator[Conflict]:
    """Strict: of several accepted writes with one token, all but one came too late."""
    sound = np.flatnonzero(~broken[zones.initials :]) + zones.initials
    levels = zones.level[sound]
    ordered = np.sort(levels)
    if not np.any(ordered[1:] == ordered[:-1]):
        return
    different, numbers = distinct(levels)
    shared = np.bincount(numbers, minlength=len(different))[numbers] > 1
    first: dict[int, int] = {}
    for place, level in zip(sound[shared].tolist(), levels[shared].tolist(), strict=True):
        late, early = place, first.setdefault(level, place)
        if late == early:
            continue
        if _surely_before(zones, late, early) and not _surely_before(zones, early, late):
            late, early = early, late
            first[level] = early
        broken[late] = True
        yield used_again(zones.zone(late), zones.zone(early))


def _surely_before(zones: ZoneColumns, one: int, other: int) -> bool:
    return bool(zones.settled[one] < zones.claimed[other])


def _stale_reads(zones: ZoneColumns, odd: Flags) -> Iterator[Conflict]:
    """Reads of an older value, called after a newer one had been accepted."""
    reads, of = zones.all_reads
    called = zones.ranks.called[reads]
    stale = np.flatnonzero(zones.mark.before(called) > zones.level[of])
    stale = stale[~odd[of[stale]]]
    if not len(stale):
        return
    entries = zones.mark.entries_before(called[stale])
    for place in np.lexsort((reads[stale], of[stale])).tolist():
        yield Conflict(
            anomaly="stale-read",
            rule=Rule.OLDER_THAN_ACCEPTED,
            accused=zones.ops[int(reads[stale[place]])],
            because=zones.proof(int(entries[place])),
        )


def _reads_after_replaced(zones: ZoneColumns, odd: Flags) -> Iterator[Conflict]:
    """Reads of a value that should not have been there, called after another had replaced it."""
    reads, of = zones.all_reads
    if not np.any(odd):
        return
    of_odd = np.flatnonzero(odd[of])
    known = np.flatnonzero(zones.settled != UNRANKED)
    latest = Summit(zones.ranks.size, zones.settled[known], zones.claimed[known])
    late = of_odd[latest.before(zones.ranks.called[reads[of_odd]]) > zones.settled[of[of_odd]]]
    for place in np.unique(of[late]).tolist():
        replaced = np.flatnonzero(
            (zones.resource == zones.resource[place]) & (zones.claimed > zones.settled[place])
        )
        replaced = replaced[(replaced != place) & (replaced >= zones.initials)]
        for read in zones.reads_of(place).tolist():
            before = zones.settled[replaced] < zones.ranks.called[read]
            if np.any(before):
                yield _replaced(zones, place, int(replaced[np.argmax(before)]), zones.ops[read])


def _replaced(zones: ZoneColumns, place: int, by: int, read: Op) -> Conflict:
    zone, other = zones.zone(place), zones.zone(by)
    because = dict.fromkeys((zone.settled_by, other.claimed_by, *other.proof))
    return Conflict(
        anomaly="stale-read" if zone.token < other.token else "non-linearizable",
        rule=Rule.WENT_BACK,
        accused=read,
        because=tuple(op for op in because if op is not None and op is not read),
    )


def _any_flip_flop(zones: ZoneColumns) -> bool:
    """Is anything wrong by algorithm R, among all zones of each register?

    Of two zones that contradict each other, the one that settled first, if any, is claimed
    after the other settled: it is among the `lasting` ones. If they settled at once, both are.
    """
    lasting = np.flatnonzero(zones.settled < zones.claimed)
    reach = np.zeros(zones.ranks.size, dtype=np.int64)
    np.maximum.at(reach, zones.settled[lasting], zones.claimed[lasting])
    if np.count_nonzero(reach) < len(lasting):
        return True  # two settled at once
    np.maximum.accumulate(reach, out=reach)
    settled, claimed = zones.settled[zones.initials :], zones.claimed[zones.initials :]
    return bool(np.any(reach[np.minimum(settled, claimed) - 1] > settled))


def _flip_flops(zones: ZoneColumns, places: Ints, key: Ints) -> Iterator[tuple[int, int]]:
    """Algorithm R among the zones of equal keys; one pair for each read that closes a flip-flop."""
    different, numbers = distinct(key[places])
    shared = np.bincount(numbers, minlength=len(different))[numbers] > 1
    first = np.zeros(len(different), dtype=np.int64)
    first[numbers[::-1]] = places[::-1]
    places, numbers = places[shared], numbers[shared]
    if not len(places):
        return
    by_time = stable_order(zones.settled[places])
    places, numbers = places[by_time], numbers[by_time]
    by_group = stable_order(numbers)
    places, numbers = places[by_group], numbers[by_group]
    base = numbers * (zones.ranks.size + 1)
    settled, claimed = zones.settled[places], zones.claimed[places]
    reach = np.minimum(np.arange(len(places)), places_in(base + settled, base + claimed))
    latest = Summit(len(places) + 1, np.arange(len(places)) + 1, base + claimed + 1)
    ahead = latest.before(reach + 1) - 1 - base
    pairs = np.flatnonzero(settled < ahead)
    if not len(pairs):
        return
    pairs = pairs[np.argsort(first[numbers[pairs]], kind="stable")]
    one, other = places[latest.entries_before(reach[pairs] + 1)], places[pairs]
    late = np.where(zones.claimed[one] >= zones.claimed[other], one, other)
    is_older = zones.level[late] < zones.level[one + other - late]
    first_of_each = ~is_repeated(2 * late + is_older)  # the others would accuse the same read of the same
    yield from zip(one[first_of_each].tolist(), other[first_of_each].tolist(), strict=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Levels:
    """The tokens that the marks reached, or may have: lowest first, resource by resource."""

    height: Ints
    definite: Flags
    start: Ints  # rank; the mark cannot have been there before
    firsts: Ints  # places of zones that can have been the first of their level
    first_levels: Ints  # and their levels


def _levels(zones: ZoneColumns, broken: Flags) -> _Levels:
    sure = np.flatnonzero(~broken & (zones.level >= zones.initial_height[zones.resource]))
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
    at_earliest = np.flatnonzero(settled == earliest[level])
    one[level[at_earliest]] = at_earliest
    is_one = one[level] == np.arange(len(level))
    next_earliest = np.full(count, UNRANKED, dtype=np.int64)
    np.minimum.at(next_earliest, level[~is_one], settled[~is_one])
    possible = claimed <= np.where(is_one, next_earliest[level], earliest[level])
    any_possible = np.zeros(count, dtype=np.bool_)
    any_possible[level[possible]] = True
    possible |= ~any_possible[level]  # none: a flip-flop, which is told by itself
    return places[possible], level[possible]


def _rejections(zones: ZoneColumns, broken: Flags, odd: Flags) -> Iterator[Conflict]:
    """Rejections without a cause, and what contradicts the cause that a rejection must have had."""
    levels = _levels(zones, broken)
    rejected = zones.rejected
    returned = zones.ranks.returned[rejected]
    refused = zones.height[rejected] + (zones.header.policy == "inclusive")
    least = places_in(levels.height, refused)
    causes = _causes(levels, least, returned)
    yield from _uncaused(zones, levels, causes, least, returned)
    caused = np.flatnonzero(causes >= 0)
    if len(caused):
        by_value = caused[_fenced_first(zones, refused[caused]) > returned[caused]]
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


def _fenced_first(zones: ZoneColumns, heights: Ints) -> Ints:
    """When the first fence to each height or a higher one was called: such a fence leaves no value.

    That of a later resource has a higher rank than anything of an earlier one.
    """
    order = stable_order(zones.height[zones.fences])
    called = zones.ranks.called[zones.fences][order]
    ever = np.append(np.minimum.accumulate(called[::-1])[::-1], UNRANKED)
    first: Ints = ever[np.searchsorted(zones.height[zones.fences][order], heights)]
    return first


def _causes(levels: _Levels, least: Ints, returned: Ints) -> Ints:
    """The lowest level that can have caused each rejection; -1 if one that came too late hides it."""
    count = len(levels.height)
    ever = np.append(np.minimum.accumulate(levels.start[::-1])[::-1], UNRANKED)
    next_definite = np.append(np.where(levels.definite, np.arange(count), count), count)
    next_definite = np.minimum.accumulate(next_definite[::-1])[::-1]
    causes = np.full(len(least), -1, dtype=np.int64)
    level, left = least.copy(), np.flatnonzero(ever[least] <= returned)
    for _ in range(_AT_ONCE):
        left = left[level[left] <= np.minimum(next_definite[least[left]], count - 1)]
        can_be = levels.start[level[left]] <= returned[left]
        causes[left[can_be]] = level[left[can_be]]
        left = left[~can_be]
        level[left] += 1
    for place in left.tolist():
        upto = min(int(next_definite[least[place]]), count - 1) + 1
        can_be_any = np.flatnonzero(levels.start[level[place] : upto] <= returned[place])
        if len(can_be_any):
            causes[place] = level[place] + can_be_any[0]
    return causes


def _uncaused(
    zones: ZoneColumns, levels: _Levels, causes: Ints, least: Ints, returned: Ints
) -> Iterator[Conflict]:
    for place in np.flatnonzero(causes < 0).tolist():
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
    written = np.arange(zones.initials, len(zones.level))
    late = written[caused.mark.before(zones.ranks.called[zones.write]) > zones.level[written]]
    late = late[~odd[late]]
    reads, of = zones.all_reads
    old = np.flatnonzero(by_value.mark.before(zones.ranks.called[reads]) > zones.level[of])
    old = old[~odd[of[old]]]
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


def _write(zones: ZoneColumns, place: int) -> Op:
    return zones.ops[int(zones.write[place - zones.initials])]

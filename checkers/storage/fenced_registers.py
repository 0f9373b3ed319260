"""What the clients of a storage saw: does some order of the operations explain it?

The model is a register with a mark. A write with token t is accepted iff
`t > mark` (strict) or `t >= mark` (inclusive), and then the mark is t. A write
that ended in info may have been accepted at any time after its call, or never.

Accepted writes are in the order of their tokens, so the place of each token,
its *level*, is forced, and only four questions remain:

1. Was every value that was read written, with that token, and not later?
2. Inclusive: can the values of one level be put in order? (see `clusters`)
3. Had each rejected write a *cause*: a level that the mark can have reached
   before the rejection returned? The lowest such level is the least that the
   rejection proves. A level can be reached at its *start* at the earliest: when
   something that raised the mark to it was called. A level that was certainly
   reached, but started later, hides those above it.
4. Did anything carry a lower token than what had surely been reached before it
   was called?

Each is necessary, and together they suffice: a rejected write can be put at
the higher of its cause and of what had been reached when it was called, which
keeps real time. So the history is right iff all four hold. With `fence`
operations they are necessary only, and a commit log must decide the rest.

Once a stale write is certain, it no longer counts for its level, and a read of
its value is judged as in a plain register: what follows from one event is not
another one. Where no fence is promised, tokens are in no order and hide nothing:
a rejection is false iff nothing with a high enough token can have been accepted
before it returned.

All registers are judged at once, in array passes. An order is kept only within a
register; `observed` puts the registers in theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.conflict import Conflict, Rule, firsts
from checkers.history.columns import Flags, Ints, indices
from checkers.history.ranks import UNRANKED, Summit, distinct, is_repeated, places_in, stable_order
from checkers.history.records import Op
from checkers.storage import rejections
from checkers.storage.cluster_columns import ZoneColumns
from checkers.storage.clusters import used_again, went_back


def observed(zones: ZoneColumns) -> Iterator[Conflict]:
    """Judge what clients saw, register by register."""
    conflicts = _fenced(zones) if zones.header.fenced else list(_plain(zones))
    if not conflicts:
        return iter(())
    order = dict(zip(zones.columns.resources, zones.recorded.order_of_resources.tolist(), strict=True))
    return firsts(sorted(conflicts, key=lambda conflict: order[conflict.accused.resource]))


def _fenced(zones: ZoneColumns) -> list[Conflict]:
    """Algorithm F."""
    found = list(zones.misreads())
    broken = np.zeros(len(zones.level), dtype=np.bool_)
    found += _stale_writes(zones, broken)
    odd = broken.copy()
    odd[zones.initials :] |= zones.is_ghost
    found += _stale_reads(zones, odd)
    found += _reads_after_replaced(zones, odd)
    if zones.header.policy == "inclusive":
        sound = indices((~odd & (zones.settled != UNRANKED))[: zones.bare])
        pairs = _flip_flops(zones, sound, zones.level)
        found += (went_back(zones.zone(one), zones.zone(other)) for one, other in pairs)
    if len(zones.rejected) and (found or not rejections.were_shut_out(zones)):
        found += rejections.of_fenced(zones, broken, odd)
    return found


def _plain(zones: ZoneColumns) -> Iterator[Conflict]:
    """Algorithm R, and the writes that were stale in every order."""
    yield from zones.misreads()
    known = np.zeros(len(zones.level), dtype=np.bool_)
    yield from _stale_writes(zones, known)
    fenced = slice(zones.initials, zones.bare)
    suspects = indices(zones.mark.before(zones.claimed[fenced]) > zones.level[fenced]) + zones.initials
    yield from _seen_after_newer(zones, suspects[~known[suspects]])
    if _any_flip_flop(zones):
        settled = indices(zones.settled != UNRANKED)
        for one, other in _flip_flops(zones, settled, zones.resource):
            yield went_back(zones.zone(one), zones.zone(other))
    if len(zones.rejected):
        yield from rejections.of_unfenced(zones)


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
    called = zones.ranks.called[zones.fenced_write]
    level, mark = zones.level[zones.initials : zones.bare], zones.mark_with_fences
    found = mark.before(called)
    strict = zones.header.policy == "strict"
    stale = indices(level <= found if strict else level < found)
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
    sound = indices(~broken[zones.initials : zones.bare]) + zones.initials
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
    stale = indices(zones.mark.before(called) > zones.level[of])
    stale = stale[~odd[of[stale]] & (of[stale] < zones.bare)]
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
    if not np.any(odd) and zones.bare == len(zones.level):
        return
    of_odd = indices(odd[of] | (of >= zones.bare))
    known = indices(zones.settled != UNRANKED)
    latest = Summit(zones.ranks.size, zones.settled[known], zones.claimed[known])
    late = of_odd[latest.before(zones.ranks.called[reads[of_odd]]) > zones.settled[of[of_odd]]]
    for place in np.unique(of[late]).tolist():
        replaced = indices((zones.resource == zones.resource[place]) & (zones.claimed > zones.settled[place]))
        replaced = replaced[(replaced != place) & (replaced >= zones.initials) & (replaced < zones.bare)]
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
    lasting = indices(zones.settled < zones.claimed)
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
    pairs = indices(settled < ahead)
    if not len(pairs):
        return
    pairs = pairs[np.argsort(first[numbers[pairs]], kind="stable")]
    one, other = places[latest.entries_before(reach[pairs] + 1)], places[pairs]
    late = np.where(zones.claimed[one] >= zones.claimed[other], one, other)
    is_older = zones.token[late] < zones.token[one + other - late]
    first_of_each = ~is_repeated(2 * late + is_older)  # the others would accuse the same read of the same
    yield from zip(one[first_of_each].tolist(), other[first_of_each].tolist(), strict=True)


def _write(zones: ZoneColumns, place: int) -> Op:
    return zones.ops[int(zones.write[place - zones.initials])]

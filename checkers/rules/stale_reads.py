"""Stale-read: a read returned a value although one with a higher token had been accepted before its call.

This is how a lagging replica answers: the newer value comes back. A value that should not have been
there at all, such as a stale write's, is judged as in a plain register: a read of it is wrong if
it was called after another value had replaced it. So are the values of one token where a
fence lets equal ones pass, and all values where no fence is promised (algorithm R): two
values contradict each other if each must have been there before the other.

A read that went back to a value whose token is not lower is non-linearizable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from checkers.explain.causes import of_servers
from checkers.explain.conflict import Breach, Conflict, each_once
from checkers.explain.cycles import Question, cycle
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, as_read, step
from checkers.explain.telling import fault_steps, in_time_order
from checkers.facts.cluster_columns import ZoneColumns
from checkers.facts.clusters import Zone
from checkers.facts.held_values import not_written_late, replaced_by
from checkers.facts.rejection_causes import refusals_by_one
from checkers.history.columns import Flags, Ints, indices
from checkers.history.ranges import NOWHERE
from checkers.history.ranks import distinct, is_repeated, places_in, stable_order
from checkers.history.records import Op, Outcome
from checkers.text.printable import content


def older_than_accepted(zones: ZoneColumns, odd: Flags, late: Flags) -> Iterator[Conflict]:
    """Yield reads of an older value called after a newer one was accepted, except values written `late`."""
    reads, of = zones.all_reads
    called = zones.ranks.called[reads]
    stale = indices(zones.mark.before(called) > zones.level[of])
    stale = stale[~late[of[stale]] & (of[stale] < zones.bare)]
    if not len(stale):
        return
    stale = stale[np.lexsort((reads[stale], of[stale]))]
    entries = zones.mark.entries_before(called[stale])
    others, refusals = not_written_late(zones, of[stale], odd), refusals_by_one(zones)[of[stale]]
    columns = np.column_stack((reads[stale], of[stale], entries, others, refusals))
    for read, place, entry, other, refusal in columns.tolist():
        newer, own = zones.proof(entry), zones.zone(place)
        if zones.settled[place] < zones.ranks.called[zones.ops.row(newer[0])]:
            shown: tuple[Op | None, ...] = () if own.settled_by is own.write else (own.settled_by,)
        else:
            shown = (zones.ops[refusal],) if other == NOWHERE else _why_not_the_write(own, zones.zone(other))
        accused = zones.ops[read]
        yield OLDER_THAN_ACCEPTED.conflict(accused, *each_once(accused, *newer, *shown))


def _why_not_the_write(own: Zone, by: Zone) -> tuple[Op | None, ...]:
    """Return the evidence that a write did not follow a newer one that it overlapped: another replaced it."""
    return (*by.proof, by.claimed_by, own.settled_by, own.claimed_by)


def reads_after_replaced(zones: ZoneColumns, odd: Flags) -> Iterator[Conflict]:
    """Yield the reads that contradict a value that should not have been there.

    Two values contradict each other if each must have been there before the other was read
    or written. The reads of the one that was called last close the contradiction; if both were
    called at once, the reads of the value that should not have been there. If those of a value
    that should have been there close it, only the first of them is accused.
    """
    if not np.any(odd) and zones.bare == len(zones.level):
        return
    reads, of = zones.all_reads
    is_odd = odd | (np.arange(len(zones.level)) >= zones.bare)
    fenced = np.arange(zones.initials, zones.bare)
    for which, among in ((is_odd[of], fenced), (~is_odd[of], indices(is_odd))):
        asked = indices(which)
        asked = asked[np.lexsort((reads[asked], of[asked]))]
        by = replaced_by(zones, of[asked], zones.ranks.called[reads[asked]], among)
        asked, by = asked[by != NOWHERE], by[by != NOWHERE]
        for row, place, other in np.column_stack((reads[asked], of[asked], by)).tolist():
            read, zone, newer = zones.ops[row], zones.zone(place), zones.zone(other)
            first, before = _first_after(zone, newer), _first_after(newer, zone)
            if is_odd[place]:
                is_last = before.called <= first.called
            else:
                is_last = before.called < first.called and read == first
            if is_last:
                because = each_once(read, zone.settled_by, before, *newer.proof)
                yield _went_back_to(zone, newer, read, because)


def _first_after(zone: Zone, other: Zone) -> Op:
    """Return the first operation of a zone that was called after another zone had settled."""
    operations = (op for op in (zone.write, *zone.reads) if op is not None)
    return next(op for op in operations if op.called > other.settled)


def _went_back_to(zone: Zone, newer: Zone, read: Op, because: Iterable[Op]) -> Conflict:
    anomaly = "stale-read" if zone.token < newer.token else None
    return WENT_BACK.conflict(read, *because, anomaly=anomaly)


def any_flip_flop(zones: ZoneColumns) -> bool:
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


def flip_flops(zones: ZoneColumns, places: Ints, key: Ints) -> Iterator[Conflict]:
    """Run algorithm R on the zones of equal keys; yield one pair for each read that closes a flip-flop."""
    _, numbers = distinct(key[places])
    shared = np.bincount(numbers)[numbers] > 1
    places, numbers = places[shared], numbers[shared]
    if not len(places):
        return
    by_time = stable_order(zones.settled[places])
    places, numbers = places[by_time], numbers[by_time]
    by_group = stable_order(numbers)
    places, numbers = places[by_group], numbers[by_group]
    base = numbers * zones.ranks.size
    settled, claimed = zones.settled[places], zones.claimed[places]
    reach = np.minimum(np.arange(len(places)), places_in(base + settled, base + claimed))
    latest = np.maximum.accumulate(np.append(0, base + claimed))
    ahead = latest[reach] - base
    pairs = indices(settled < ahead)
    if not len(pairs):
        return
    one, other = places[np.searchsorted(latest, latest[reach[pairs]]) - 1], places[pairs]
    late = np.where(zones.claimed[one] >= zones.claimed[other], one, other)
    is_older = zones.token[late] < zones.token[one + other - late]
    first_of_each = ~is_repeated(2 * late + is_older)  # the others would accuse the same read again
    for pair in np.column_stack((one, other))[first_of_each].tolist():
        yield went_back(*map(zones.zone, pair))


def went_back(one: Zone, other: Zone) -> Conflict:
    """Accuse the read that closes a flip-flop: the later call of the two values that alternate."""
    late, early = sorted((one, other), key=lambda zone: zone.claimed, reverse=True)
    accused = late.claimed_by
    if accused is None:  # impossible: the later call of a flip-flop is a read's
        raise AssertionError("a flip-flop without a read")
    because = each_once(accused, early.settled_by, late.settled_by, early.claimed_by)
    return _went_back_to(late, early, accused, because)


def _older_than_accepted(n: Narrator, conflict: Conflict) -> Story:
    read, (newer, *_) = conflict.accused, conflict.because
    return _still_read(
        n,
        conflict,
        f"{n.whom(read)} read {as_read(read)} from {read.resource}"
        f" although a write with the newer token {newer.token} had been accepted before",
        (newer.called, f"A write with token {newer.token} had been accepted on {read.resource}."),
        f"the read returned {as_read(read)} although token {newer.token} had been accepted before",
        fenced=True,
    )


def _by_a_refusal(n: Narrator, conflict: Conflict) -> Iterator[Step]:
    """Say that a refusal proves that the value which was read had been written before the newer one."""
    write = n.index.writer(conflict.accused)
    for refused in conflict.because:
        if refused.outcome is Outcome.FAIL and write is not None:
            yield step(
                f"The storage refused {n.message(refused)} with token {refused.token} as stale"
                f" {n.answered(refused)}: only {n.name(write)} can have caused that, so it had been accepted"
                " by then.",
                refused,
                write,
            )


def _went_back(n: Narrator, conflict: Conflict) -> Story:
    read = conflict.accused
    newer = [op for op in conflict.because if op.value != read.value][-1]
    old, new = content(read.value), content(newer.value)
    return _still_read(
        n,
        conflict,
        f"{n.whom(read)} read {old} from {read.resource} after {new} had replaced it",
        (newer.called, f"On {read.resource}, {new} had replaced {old}."),
        "a replaced value came back, although each value is written once",
        fenced=False,
    )


def _still_read(
    n: Narrator, conflict: Conflict, summary: str, before: tuple[float, str], moral: str, *, fenced: bool
) -> Story:
    """Tell what came before, that a client still read an older value, and prove it by the order of all."""
    read, cause = conflict.accused, of_servers(n, "storage", conflict.proof)
    still = f"{n.who(read)} still read {content(read.value)}, from {n.at(read.called)} on."
    question = Question(proof=conflict.proof, fenced=fenced, accused=read)
    return Story(
        summary=summary,
        steps=(*fault_steps(n, cause), *_by_a_refusal(n, conflict), *cycle(n, question, moral)),
        sentences=in_time_order(n, cause, before, (read.called, still)),
        cause=cause,
    )


# because: what proves a newer token
OLDER_THAN_ACCEPTED = Breach("stale-read", "older-than-accepted", _older_than_accepted)
# because: what shows that the other value came later
WENT_BACK = Breach("non-linearizable", "went-back", _went_back)

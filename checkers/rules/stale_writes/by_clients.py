"""Stale writes by what clients saw.

A write is stale if it was called after a newer token had surely been accepted or fenced. A write called
before that is stale if it was read after the newer value had been there, and does not surely precede it. With
a fence, this must alone explain all reads of its value, and no refusal may need the write to have come
before the newer one; otherwise the reads are stale (see `held_values` and `rejection_causes`). Of
several accepted writes with one token, a strict fence wrongly let all but one pass.

An append reads a list before it writes one. So the list that it read had certainly been accepted by
then, as if a read had returned it. If that list was written with a newer token (strict: or the
same one), an append that took effect was stale, whether or not the newer one was ever acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from checkers.explain.conflict import Breach, Conflict, each_once
from checkers.explain.effects import acceptance, ending, first_reader
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, step
from checkers.facts.cluster_columns import ZoneColumns
from checkers.facts.clusters import Zone
from checkers.facts.held_values import not_written_late
from checkers.facts.rejection_causes import refusals_by_one
from checkers.history.columns import Flags, Ints, indices
from checkers.history.ranges import NOWHERE, first_at_most
from checkers.history.ranks import distinct, stable_order
from checkers.history.records import Op, Outcome
from checkers.rules.stale_writes.story import (
    BELOW_THE_START,
    SENT_AFTER_NEWER,
    stale_as_seen,
    stale_story,
    took_the_older,
)
from checkers.text.printable import content


def written_after_newer(zones: ZoneColumns, broken: Flags) -> Iterator[Conflict]:
    """Yield appends that took effect after they read what a newer token wrote; mark their zones as broken."""
    is_strict = zones.header.policy == "strict"
    for append, writer in zones.shown.pairs:
        if append.token is None or writer.token is None or writer.token < append.token + (not is_strict):
            continue
        place, shown_by = int(zones.zone_of_row[zones.ops.row(append)]), zones.shown.by.get(append.index)
        if place >= 0 and not broken[place]:
            broken[place] = True
            is_known = append.outcome is Outcome.OK and append.seen is not None
            yield AFTER_NEWER.conflict(append, *each_once(append, writer, None if is_known else shown_by))
        elif place < 0 and append.outcome is Outcome.INFO and shown_by is not None:
            yield AFTER_NEWER.conflict(append, *each_once(append, writer, shown_by))


def _wrote_the_older(n: Narrator, conflict: Conflict) -> Story:
    write, newer = conflict.accused, conflict.because[0]
    called = f"{n.who(write)} called its append with token {write.token} {n.sent(write)}"
    read = f"it read {content(newer.value)}: that had been accepted by then."
    shown = _took_effect(n, write, conflict.because[1:])
    if write.seen is None:
        order = f"In that list, {content(write.element)} follows {content(newer.element)}"
        steps = (step(f"{called}.", write), *shown, step(f"{order}: before it wrote, {read}", write, newer))
    else:
        steps = (step(f"{called}, and before it wrote, {read}", write, newer), *shown)
    therefore = step(f"So {took_the_older(write, newer)}.", write, newer)
    return stale_story(n, write, newer, (n.sent_step(newer), *steps, therefore))


def _took_effect(n: Narrator, write: Op, found_by: Sequence[Op]) -> tuple[Step, ...]:
    shown = tuple(acceptance(n, (write, op)) for op in found_by or first_reader(n, write))
    return shown or (step(f"{ending(n, write)}.", write),)


# because: the append whose list it had read, and who shows that it took effect, or what it had read
AFTER_NEWER = Breach("stale-write", "after-newer", _wrote_the_older)


def sent_after_newer(zones: ZoneColumns, broken: Flags) -> Iterator[Conflict]:
    """Yield writes that came after a newer token; mark their zones as broken."""
    called = zones.ranks.called[zones.fenced_write]
    level, mark = zones.level[zones.initials : zones.bare], zones.mark_with_fences
    found = mark.before(called)
    strict = zones.header.policy == "strict"
    stale = indices(level <= found if strict else level < found)
    broken[zones.initials + stale] = True
    because = [zones.proof(entry) for entry in mark.entries_before(called[stale]).tolist()]
    for place, proof in zip(stale.tolist(), because, strict=True):
        breach = SENT_AFTER_NEWER if proof else BELOW_THE_START
        yield breach.conflict(zones.write_of(zones.initials + place), *proof)
    yield from written_after_newer(zones, broken)
    if strict:
        yield from _second_uses(zones, broken)


def _second_uses(zones: ZoneColumns, broken: Flags) -> Iterator[Conflict]:
    """Yield all but the first of several accepted writes with one token (strict)."""
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
        yield _twice(zones.zone(late), zones.zone(early))


def _surely_before(zones: ZoneColumns, one: int, other: int) -> bool:
    return bool(zones.settled[one] < zones.claimed[other])


def _twice(late: Zone, early: Zone) -> Conflict:
    """Accuse the write of a value whose token another value had used up, and show their order."""
    if late.write is None:  # impossible: the initial value comes first
        raise AssertionError("a second write without a write")
    shown = [late.claimed_by] if early.surely_before(late) else []
    return SAME_TOKEN_TWICE.conflict(late.write, *each_once(late.write, *early.proof, *shown))


def seen_after_newer(zones: ZoneColumns, known: Flags) -> Iterator[Conflict]:
    """Yield writes read after a newer value had been there, except `known` ones; for unfenced storages."""
    for suspect, newer in zip(*_read_after_newer(zones, known), strict=True):
        if zones.settled[suspect] >= zones.claimed[newer]:
            yield _seen(zones, int(suspect), int(newer))


def alone_after_newer(zones: ZoneColumns, broken: Flags, odd: Flags) -> Iterator[Conflict]:
    """Yield writes that explain all reads of their values if the fence let them in late; mark them as odd."""
    suspects, newer = _read_after_newer(zones, broken)
    if not len(suspects):
        return
    alone = not_written_late(zones, suspects, odd) == NOWHERE
    alone &= refusals_by_one(zones)[suspects] == NOWHERE
    odd[suspects[alone]] = True
    pairs = zip(suspects[alone].tolist(), newer[alone].tolist(), strict=True)
    yield from (_seen(zones, *pair) for pair in pairs)


def _read_after_newer(zones: ZoneColumns, known: Flags) -> tuple[Ints, Ints]:
    """Return the zones read after a newer value had been there, and the newest such value of each."""
    fenced = slice(zones.initials, zones.bare)
    suspects = indices(zones.mark.before(zones.claimed[fenced]) > zones.level[fenced]) + zones.initials
    suspects = suspects[~known[suspects]]
    by_level = stable_order(zones.level)
    newest = zones.mark.before(zones.claimed[suspects])
    firsts = np.searchsorted(zones.level[by_level], newest)
    found = first_at_most(zones.settled[by_level], firsts, zones.claimed[suspects] - 1)
    return suspects, by_level[found]


def _seen(zones: ZoneColumns, suspect: int, newer: int) -> Conflict:
    last = zones.zone(suspect).claimed_by
    return SEEN_AFTER_NEWER.conflict(zones.write_of(suspect), *zones.zone(newer).proof, last)


def _used_again(n: Narrator, conflict: Conflict) -> Story:
    """Tell which of two writes with one token surely came second, and so too late; else that one did."""
    write, other = conflict.accused, conflict.because[0]
    story = stale_as_seen(n, conflict)
    first = [op for op in conflict.proof if op is other or (op.f == "read" and op.value == other.value)]
    last = [op for op in conflict.proof if op is write or (op.f == "read" and op.value == write.value)]
    if any(one.precedes(two) for one in first for two in last):
        return story
    summary = (
        f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource}, and"
        f" {content(other.value)} was accepted with the same token, which a strict fence accepts only once"
    )
    return replace(story, summary=summary)


# because: the newer write's proof, then who saw this one
SEEN_AFTER_NEWER = Breach("stale-write", "after-newer", stale_as_seen)
# because: the other write
SAME_TOKEN_TWICE = Breach("stale-write", "same-token-twice", _used_again, is_pair=True)

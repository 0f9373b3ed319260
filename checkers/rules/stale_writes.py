"""Stale-write: a write took effect after a write or a fence with a newer token had.

Strict: after another write with an equal token, too.

**By the log**, it stands there after a newer token. The logged token decides, whichever client
sent it, and a fence counts as a write does. Where fences are not logged, an acknowledged
one shuts out what took effect after it: a write did so after everything up to its place in the
log had been called.

**By what clients saw**, it was called after a newer token had surely been accepted or fenced.
It may also have been called before that: then it is stale if it was read after the newer value
had been there, and does not surely come before it. With a fence, only if that alone explains
all reads of its value: else these are stale (see `replaced`). Of several accepted writes with
one token, a strict fence lets all but one pass wrongly. An append may also show by the list that
it read that it is stale: see `found_lists`.

Where the lock gives no tokens, real time orders the holds: see `earlier_holds`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from checkers.explain.causes import of_late_write
from checkers.explain.checker import Checker
from checkers.explain.conflict import Breach, Conflict, each_once
from checkers.explain.cycles import Question, cycle
from checkers.explain.fault_steps import fault_steps
from checkers.explain.narrator import Narrator
from checkers.explain.phrases import content, listed, times
from checkers.explain.story import Step, Story, step
from checkers.explain.telling import tell
from checkers.facts.cluster_columns import ZoneColumns
from checkers.facts.clusters import Zone
from checkers.facts.evidence import Evidence, log_of
from checkers.facts.log_columns import LogColumns
from checkers.facts.replaced import not_written_late
from checkers.history.columns import ABSENT, Flags, Ints, indices
from checkers.history.ranges import NOWHERE, first_at_most
from checkers.history.ranks import Summit, distinct, stable_order
from checkers.history.records import WRITES, Op
from checkers.rules import earlier_holds
from checkers.rules.found_lists import written_after_newer
from checkers.rules.stale_story import had, stale_story, took_the_older


def logged(evidence: Evidence) -> Iterator[Conflict]:
    """All stale writes by the log: of tokens, and of holds without any."""
    yield from in_log(evidence)
    yield from earlier_holds.in_log(evidence)


def in_log(evidence: Evidence) -> Iterator[Conflict]:
    """Writes that the log has after a newer token."""
    log, header = log_of(evidence), evidence.history.header
    if log is None:
        return
    strict = header.policy == "strict"
    has_token = log.token != ABSENT
    start = header.initial_token
    is_low = has_token & ~log.fence & (log.token <= start if strict else log.token < start)
    height = np.where(has_token & ~is_low, log.height, 0)
    before = np.append(0, np.maximum.accumulate(height)[:-1]) if len(log) else height
    is_above = (height > before if strict else height >= before) & (height > 0)
    positions = np.arange(len(log))
    highest = np.append(-1, np.maximum.accumulate(np.where(is_above, positions, -1)))[:-1]
    is_below = (height > 0) & ~is_above & ~log.fence
    is_below &= (log.row < 0) | (log.row != log.row[highest])  # one write that stands twice is a duplicate
    for position in log.by_first_commit(indices(is_low | is_below)).tolist():
        if is_low[position]:
            yield BELOW_THE_START.conflict(log.op(position))
        else:
            yield LOGGED_AFTER_NEWER.conflict(log.op(position), log.op(int(highest[position])))


def after_fence(zones: ZoneColumns, log: LogColumns, starts: Ints) -> Iterator[Conflict]:
    """Writes that took effect after a fence with a newer token had been acknowledged that is not logged.

    `starts` are the ranks at which the log can have got to each position at the earliest.
    """
    fences = zones.acknowledged_fences
    if not len(fences) or not len(log):
        return
    mark = Summit(zones.ranks.size, zones.ranks.returned[fences], zones.height[fences])
    starts = np.maximum(starts, 1)
    fenced = indices(~log.fence & (log.token != ABSENT) & (mark.before(starts) > 0))
    if not len(fenced):
        return
    by = fences[mark.entries_before(starts[fenced])]
    newer = zones.columns.token[by]
    stale = log.token[fenced] <= newer if zones.header.policy == "strict" else log.token[fenced] < newer
    stale &= zones.columns.resource[by] == log.resource[fenced]
    for position, fence in zip(fenced[stale].tolist(), by[stale].tolist(), strict=True):
        latest = log.sent_last_up_to(position)
        others = [] if latest is None or log.row[latest] == log.row[position] else [latest]
        yield SENT_AFTER_NEWER.conflict(log.op(position), zones.ops[fence], *map(log.op, others))


def sent_after_newer(zones: ZoneColumns, broken: Flags) -> Iterator[Conflict]:
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
        breach = SENT_AFTER_NEWER if proof else BELOW_THE_START
        yield breach.conflict(zones.write_of(zones.initials + place), *proof)
    yield from written_after_newer(zones, broken)
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


def used_again(late: Zone, early: Zone) -> Conflict:
    """Accuse the write of a value whose token another value had used up, and name what shows their order."""
    if late.write is None:  # impossible: the initial value is no second write
        raise AssertionError("a second write without a write")
    shown = [late.claimed_by] if early.surely_before(late) else []
    return SAME_TOKEN_TWICE.conflict(late.write, *each_once(late.write, *early.proof, *shown))


def seen_after_newer(zones: ZoneColumns, known: Flags) -> Iterator[Conflict]:
    """Where no fence is promised: writes read after a newer value had been there, but for `known` ones."""
    for suspect, newer in zip(*_read_after_newer(zones, known), strict=True):
        if zones.settled[suspect] >= zones.claimed[newer]:
            yield _seen(zones, int(suspect), int(newer))


def alone_after_newer(zones: ZoneColumns, odd: Flags, late: Flags) -> Iterator[Conflict]:
    """With a fence: writes that, if they passed it late, explain all reads of theirs; marks them as late."""
    suspects, newer = _read_after_newer(zones, odd)
    alone = not_written_late(zones, suspects, odd) == NOWHERE
    late[suspects[alone]] = True
    yield from (
        _seen(zones, *each) for each in zip(suspects[alone].tolist(), newer[alone].tolist(), strict=True)
    )


def _read_after_newer(zones: ZoneColumns, known: Flags) -> tuple[Ints, Ints]:
    """The zones that were read after a newer value had been there, and the newest such one of each."""
    fenced = slice(zones.initials, zones.bare)
    suspects = indices(zones.mark.before(zones.claimed[fenced]) > zones.level[fenced]) + zones.initials
    suspects = suspects[~known[suspects]]
    by_level = stable_order(zones.level)
    newest = zones.mark.before(zones.claimed[suspects])
    firsts = np.searchsorted(zones.level[by_level], newest)
    found = first_at_most(zones.settled[by_level], firsts, zones.claimed[suspects] - 1)
    return suspects, by_level[found]


def _seen(zones: ZoneColumns, suspect: int, newer: int) -> Conflict:
    zone = zones.zone(suspect)
    seen_by = () if zone.claimed_by is None else (zone.claimed_by,)
    return SEEN_AFTER_NEWER.conflict(zones.write_of(suspect), *zones.zone(newer).proof, *seen_by)


def came_after_higher(conflict: Conflict) -> bool:
    """Is it a stale write that came after a value with a higher token, not with an equal one?"""
    token = conflict.accused.token or 0
    higher = (op for op in conflict.because if op.f != "fence" and (op.token or 0) > token)
    return conflict.anomaly == "stale-write" and any(higher)


def _stale(n: Narrator, conflict: Conflict, newer: Op, question: Question) -> Story:
    write = conflict.accused
    return stale_story(n, write, newer, cycle(n, question, took_the_older(write, newer)))


def _stale_as_seen(n: Narrator, conflict: Conflict) -> Story:
    newer = next(op for op in conflict.because if op.f in {*WRITES, "fence"})
    return _stale(n, conflict, newer, Question(proof=conflict.proof, fenced=True, accused=conflict.accused))


def _used_again(n: Narrator, conflict: Conflict) -> Story:
    """Of two writes with one token, that came too late which surely came second; or one of the two."""
    write, other = conflict.accused, conflict.because[0]
    story = _stale_as_seen(n, conflict)
    first = [op for op in conflict.proof if op is other or (op.f == "read" and op.value == other.value)]
    last = [op for op in conflict.proof if op is write or (op.f == "read" and op.value == write.value)]
    if any(one.precedes(two) for one in first for two in last):
        return story
    summary = (
        f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource}, and"
        f" {content(other.value)} was accepted with the same token, which a strict fence accepts only once"
    )
    return replace(story, summary=summary)


def _logged_after_newer(n: Narrator, conflict: Conflict) -> Story:
    write, newer = conflict.accused, conflict.because[0]
    log = (newer, write)
    story = _stale(n, conflict, newer, Question(proof=log, fenced=True, timed=False, log=log, accused=write))
    again = _again(n, write, newer)
    if not again:
        return story
    what = f"{content(write.value)} with token {write.token} to {write.resource} by {n.whom(write)}"
    which = "the same" if newer.token == write.token else "the newer"
    summary = (
        f"the write of {what} took effect once more after the storage had {had(newer)} with {which} token"
        f" {newer.token}"
    )
    return replace(story, summary=summary, steps=(*again, *story.steps))


def _again(n: Narrator, write: Op, newer: Op) -> tuple[Step, ...]:
    """Of a write that stands before a newer one and after it, that only the latter place is stale."""
    numbers = n.numbers(write)
    early = [number for number in numbers if number < n.numbers(newer)[0]]
    if not early:
        return ()
    return (
        step(
            f"{n.who(write)} sent {content(write.value)} once, {n.sent(write)}, and it took effect"
            f" {times(len(numbers))}: in the storage's own order it is {listed(numbers)}.",
            write,
        ),
        step(
            f"Number {early[0]} came before {n.stored(newer)}, in its turn; number {numbers[-1]} came after"
            " it: that one is stale.",
            newer,
        ),
    )


def _below_the_start(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    cause = of_late_write(n, write)
    start = n.history.header.initial_token
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource},"
            f" whose token was {start} before the run"
        ),
        steps=(
            *fault_steps(n, cause, write),
            *cycle(
                n,
                Question(proof=conflict.proof, fenced=True, accused=conflict.accused),
                f"the storage accepted token {write.token} although its token was already {start}",
            ),
        ),
        cause=cause,
        sentences=tell(
            f"Before the run, {write.resource} had token {start}.",
            f"{n.who(write)} wrote {content(write.value)} with token {write.token}, and the storage"
            " accepted it.",
        ),
    )


# because: what proves that a newer token had been accepted
SENT_AFTER_NEWER = Breach(anomaly="stale-write", rule="after-newer", story=_stale_as_seen)
# because: the newer write's proof, then who saw this one
SEEN_AFTER_NEWER = Breach(anomaly="stale-write", rule="after-newer", story=_stale_as_seen)
# because: the newer write
LOGGED_AFTER_NEWER = Breach(anomaly="stale-write", rule="after-newer", story=_logged_after_newer)
# because: the other write
SAME_TOKEN_TWICE = Breach(anomaly="stale-write", rule="same-token-twice", story=_used_again, is_pair=True)
BELOW_THE_START = Breach(anomaly="stale-write", rule="below-the-start", story=_below_the_start)

CHECKER = Checker(
    name="stale-write", evidence="committed", decides=("stale-write",), check=logged, compares_only=True
)

"""Stale writes where the lock gives no tokens: a write of an earlier hold took effect after a later one's.

Holds are ordered by real time (see `hold_order`). Two holds whose grants overlap have no
order, and their writes are never stale to each other. This applies only to a storage that promises no
fence: a fenced one has accepted a write without a token (see `unfenced_writes`).

**By the log**, the write comes after a write of a hold that surely came later.

**By what clients saw**, it was called after a write of such a hold had surely been accepted: the later
write had returned, or its value had been read. Or it was called before that, and read afterwards: a write
that is in flight while its holder is paused takes effect last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from checkers.explain.causes import of_late_write
from checkers.explain.conflict import Breach, Conflict
from checkers.explain.effects import acceptance, ending, first_reader
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, listed, lock_on, step, times
from checkers.explain.telling import fault_steps
from checkers.facts.cluster_columns import zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.hold_order import hold_order, writes_of
from checkers.history.columns import indices
from checkers.history.records import Op, Outcome
from checkers.rules.stale_writes.story import short_story
from checkers.text.printable import content


def in_log(evidence: Evidence) -> Iterator[Conflict]:
    """Yield writes that the log has after a write of a later hold."""
    log, holds = evidence.log, hold_order(evidence)
    if log is None or evidence.history.header.fenced or not len(holds.writes):
        return
    grant = np.where(log.row >= 0, holds.grant_of(log.row), -1)
    known = indices(grant >= 0)
    grant = grant[known]
    asked = holds.asked(grant)
    latest = np.append(0, np.maximum.accumulate(asked))[:-1]  # before each write
    first = np.maximum.accumulate(np.where(asked > latest, np.arange(len(asked)), 0))
    stale = indices(latest > holds.answered(grant))
    for position in log.by_first_commit(known[stale]).tolist():
        place = int(np.searchsorted(known, position))
        newer = int(first[place - 1])
        grants = holds.operations(grant[[place, newer]])
        yield LOGGED_AFTER_LATER.conflict(log.op(position), log.op(int(known[newer])), *grants)


def sent_after_later(evidence: Evidence) -> Iterator[Conflict]:
    """Yield writes that took effect, called after a write of a later hold had surely been accepted."""
    writes = writes_of(evidence)
    if writes is None:
        return
    zones = zones_of(evidence)
    stale = writes.accepted & writes.is_after_accepted
    for row, grant, (newer, later) in writes.with_newest(indices(stale)):
        grants = hold_order(evidence).operations(np.array([grant, later]))
        yield SENT_AFTER_LATER.conflict(zones.ops[row], *zones.zone(newer).proof, *grants)


def seen_after_later(evidence: Evidence) -> Iterator[Conflict]:
    """Yield writes called before a write of a later hold had surely been accepted, and read after that."""
    writes = writes_of(evidence)
    if writes is None:
        return
    zones = zones_of(evidence)
    for row, grant, (newer, later) in writes.seen_after_newest():
        zone, newer_zone = zones.zone(int(zones.zone_of_row[np.array([row])][0])), zones.zone(newer)
        if zone.surely_before(newer_zone):
            continue  # the two values alternate: the last one is unknown
        grants = hold_order(evidence).operations(np.array([grant, later]))
        yield SEEN_AFTER_LATER.conflict(zones.ops[row], *newer_zone.proof, zone.claimed_by, *grants)


def _logged_after_later(n: Narrator, conflict: Conflict) -> Story:
    write, (newer, own, later) = conflict.accused, conflict.because
    numbers, what = n.numbers(write), content(write.value)
    order = f"In the storage's own order, {content(newer.value)} is {n.place(newer, first=True)}"
    places = step(f"{order}, and {what} is {listed(numbers)}.", newer, write)
    again = step(f"It was sent once, and took effect {times(len(numbers))}.", write)
    after = (places, again) if len(numbers) > 1 else (places,)
    return _story(n, conflict, (own, later), newer, (n.sent_step(newer), n.sent_step(write), *after))


def _sent_after_later(n: Narrator, conflict: Conflict) -> Story:
    write, (*proof, own, later) = conflict.accused, conflict.because
    reads = [] if write.outcome is Outcome.OK else first_reader(n, write)
    came_after = (
        *_accepted(n, proof),
        step(f"{n.who(write)} sent {content(write.value)} only later, {n.sent(write)}.", write),
        *([] if reads else [step(f"{ending(n, write)}.", write)]),
        *(_returned(n, write, read) for read in reads),
    )
    return _story(n, conflict, (own, later), proof[0], came_after)


def _seen_after_later(n: Narrator, conflict: Conflict) -> Story:
    write, (newer, *shown, read, own, later) = conflict.accused, conflict.because
    returned = step(
        f"A read that {n.whom(read)} called after that, {n.sent(read)}, returned"
        f" {content(write.value)}: it took effect after {content(newer.value)}.",
        read,
        write,
        newer,
    )
    came_after = (n.sent_step(write), *_accepted(n, (newer, *shown)), returned)
    return _story(n, conflict, (own, later), newer, came_after)


def _returned(n: Narrator, write: Op, by: Op) -> Step:
    if by.f == "read" and by.value == write.value:
        return step(f"A read by {n.whom(by)} returned it {n.answered(by)}: it took effect.", by)
    return acceptance(n, (write, by))


def _accepted(n: Narrator, proof: Sequence[Op]) -> tuple[Step, ...]:
    """Say that a write had surely been accepted; if its own answer does not show that, when it was sent."""
    newer = proof[0]
    sent = step(f"{n.who(newer)} sent {content(newer.value)} {n.sent(newer)}.", newer)
    return (*([sent] if len(proof) > 1 else []), acceptance(n, proof))


def _story(
    n: Narrator, conflict: Conflict, grants: tuple[Op, Op], newer: Op, came_after: tuple[Step, ...]
) -> Story:
    """Tell who held the lock, what delayed the holder, who came later, and why the write came too late."""
    write, (own, later) = conflict.accused, grants
    cause = of_late_write(n, write, newer)
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} to {write.resource} after the storage had accepted"
            f" {content(newer.value)} of {n.whom(newer)}, which had been granted the lock later"
        ),
        steps=(
            *n.grant_steps(own),
            *fault_steps(n, cause, write),
            *n.grant_steps(later),
            came_later(n, own, later),
            *came_after,
            step(
                "So outdated data replaced newer data: without a token, the storage cannot tell that"
                f" {content(write.value)} is of an earlier hold than {content(newer.value)}.",
                write,
                newer,
            ),
        ),
        sentences=short_story(n, write, newer, cause),
        cause=cause,
    )


def came_later(n: Narrator, own: Op, later: Op) -> Step:
    """Say which of two holds is the later one."""
    return step(
        f"That is the later hold, by real time: {n.began(later)}, after {n.whom(own)} had been granted"
        f" {lock_on(own.resource)}.",
        later,
    )


# because: the newer write, the grant of the accused one's hold, the grant of the newer one's
LOGGED_AFTER_LATER = Breach("stale-write", "after-later-hold", _logged_after_later)
# because: the newer write's proof, then the two grants
SENT_AFTER_LATER = Breach("stale-write", "after-later-hold", _sent_after_later)
# because: the newer write's proof, the read that saw this one, then the two grants
SEEN_AFTER_LATER = Breach("stale-write", "after-later-hold", _seen_after_later)

"""Stale writes by the log: they come after a newer token in it.

The logged token decides, whichever client sent it, and a fence counts like a write. Where fences are
not logged, an acknowledged fence rules out older writes after it: a write took effect after
everything up to its place in the log had been called.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from checkers.explain.conflict import Breach, Conflict
from checkers.explain.cycles import Question
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, listed, step, times
from checkers.facts.cluster_columns import ZoneColumns
from checkers.facts.evidence import Evidence
from checkers.facts.log_columns import LogColumns
from checkers.history.columns import ABSENT, Ints, indices
from checkers.history.ranks import Summit
from checkers.history.records import Op
from checkers.rules.stale_writes.story import BELOW_THE_START, SENT_AFTER_NEWER, had, stale
from checkers.text.printable import content


def in_log(evidence: Evidence) -> Iterator[Conflict]:
    """Yield writes that the log has after a newer token."""
    log, header = evidence.log, evidence.history.header
    if log is None:
        return
    strict = header.policy == "strict"
    start, has_token = header.initial_token, log.token != ABSENT
    is_low = has_token & ~log.fence & (log.token <= start if strict else log.token < start)
    before = np.append(0, log.marks)[:-1]
    is_above = log.height > before if strict else log.height >= before
    positions = np.arange(len(log))
    highest = np.append(-1, np.maximum.accumulate(np.where(is_above, positions, -1)))[:-1]
    is_below = has_token & ~is_above & ~log.fence
    is_below &= (log.row < 0) | (log.row != log.row[highest])  # a write logged twice is a duplicate
    for position in log.by_first_commit(indices(is_low | is_below)).tolist():
        if is_low[position]:
            yield BELOW_THE_START.conflict(log.op(position))
        else:
            yield LOGGED_AFTER_NEWER.conflict(log.op(position), log.op(int(highest[position])))


def after_fence(zones: ZoneColumns, log: LogColumns, starts: Ints) -> Iterator[Conflict]:
    """Yield writes that took effect after an unlogged fence with a newer token had been acknowledged.

    `starts` are the earliest ranks at which the log can have reached each position.
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


def _logged_after_newer(n: Narrator, conflict: Conflict) -> Story:
    write, newer = conflict.accused, conflict.because[0]
    log = (newer, write)
    story = stale(n, conflict, newer, Question(proof=log, fenced=True, timed=False, log=log, accused=write))
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
    """Say that a write logged both before and after a newer one is stale only in the later place."""
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


# because: the newer write
LOGGED_AFTER_NEWER = Breach("stale-write", "after-newer", _logged_after_newer)

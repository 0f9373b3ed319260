"""Coverage: a run that never challenged the fence proves nothing about it.

A stale write was *tried* if the storage answered it as accepted or stale, or it took effect, and

- a write or fence with a higher token had succeeded before it was called, or
- it was rejected, and something with a higher token that was called before its return may have
  been above it (see `may_be_below`: a commit log shows what was not), or
- the commit log has it after something with a higher token, or
- it was found to be stale by a later read.

The token from before the run is not such a higher token.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.executions import executions_past_lease, has_jobs
from checkers.facts.hits import hits_of
from checkers.facts.hold_order import writes_of
from checkers.facts.narrowing import count_of_grants
from checkers.facts.rejection_causes import may_be_below
from checkers.history.columns import ABSENT, FENCE, NO_ROWS, OK, Flags, Ints, indices
from checkers.history.ranks import UNRANKED, Summit
from checkers.history.records import Outcome
from checkers.rules.late_writes import grants_of, newest
from checkers.rules.registers import stale_writes_of
from checkers.rules.short_histories import attempts_if_right
from checkers.rules.stale_writes import came_after_higher
from checkers.vocabulary.counts import COVERAGE, OF_JOBS
from checkers.vocabulary.fault_kinds import KINDS
from checkers.vocabulary.hazards import Hit


def coverage(evidence: Evidence) -> dict[str, int]:
    """Count what the run challenged, by the names of `COVERAGE` and the header's kinds of faults.

    A fault counts once it was seen in force and seen healed; the kill of a client has no end. A late write
    was called after a newer token had been granted, whatever became of it. The module says which stale
    writes were tried. A write that failed for another reason than a fence, such as a missing
    connection, challenged nothing; nor did one without an answer, unless it took effect.

    Where the lock gives no tokens, a later hold counts as a higher token (see `hold_order`).

    A strict fence that refuses a holder's own second write has not been challenged: the tokens are equal.
    """
    counts = {name: 0 for name in COVERAGE if name not in OF_JOBS}
    counts["grants"] = count_of_grants(evidence)
    _count_faults(counts, evidence)
    return counts | attempts(evidence) | _work(evidence)


def _work(evidence: Evidence) -> dict[str, int]:
    """Count the jobs and their executions; nothing in a history without jobs."""
    if not has_jobs(evidence):
        return {}
    submitted = sum(op.outcome is Outcome.OK for op in evidence.named("submit"))
    executions = sum(1 for _ in evidence.named("execute"))
    return dict(zip(OF_JOBS, (submitted, executions, executions_past_lease(evidence)), strict=True))


def _count_faults(counts: dict[str, int], evidence: Evidence) -> None:
    counting = [each for each in hits_of(evidence) if each.counts]
    times = Counter(each.fault.words.count for each in counting)
    for kind in (*KINDS.values(), *evidence.history.header.faults.values()):
        if kind.count is not None:
            counts[kind.count] = times[kind.count]
    hits = ((each.fault, hit) for each in counting for hit in each.holds)
    past_lease = [(fault, hit) for fault, hit in hits if hit.past_lease and hit.whom is Hit.HOLDER]
    counts["pauses_past_lease"] = len({id(fault) for fault, _ in past_lease if fault.kind == "pause"})
    others = {grant for fault, hit in past_lease if fault.healed < math.inf for grant in hit.others}
    counts["grants_to_others"] = len(others)


def attempts(evidence: Evidence) -> dict[str, int]:
    """Count the late and stale writes that were tried, and what became of the stale ones."""
    known = attempts_if_right(evidence)
    if known is not None:
        return known
    zones = zones_of(evidence)
    fenced = zones.writes[zones.columns.token[zones.writes] != ABSENT]
    late = _below(zones, newest(zones, grants_of(zones)), fenced)
    mark, stale_ones = _succeeded(zones, zones.acknowledged_fences), list(stale_writes_of(evidence))
    after_higher = zones.recorded.flags_of(each.accused for each in stale_ones if came_after_higher(each))
    stale = zones.recorded.flags_of(each.accused for each in stale_ones)
    after_higher[_logged_after_higher(evidence)] = True
    accepted = after_higher[zones.fenced_write] | _below(zones, mark, zones.fenced_write)
    accepted |= stale[zones.fenced_write] & _seen_below(zones)
    rejected = may_be_below(evidence, zones.rejected[zones.columns.f[zones.rejected] != FENCE])
    lost = zones.optional[zones.columns.outcome[zones.optional] == OK]  # not in the log
    tried = np.concatenate((accepted, rejected, _below(zones, mark, lost)))
    late_tried, stale_tried, stale_rejected, stale_accepted = _without_tokens(evidence, stale)
    return {
        "late_writes_attempted": int(np.count_nonzero(late)) + late_tried,
        "stale_writes_attempted": int(np.count_nonzero(tried)) + stale_tried,
        "stale_writes_rejected": int(np.count_nonzero(rejected)) + stale_rejected,
        "stale_writes_accepted": int(np.count_nonzero(accepted)) + stale_accepted,
    }


def _without_tokens(evidence: Evidence, stale: Flags) -> tuple[int, int, int, int]:
    """Count, in holds without tokens, late writes, stale ones, and of these the refused and accepted ones."""
    writes = writes_of(evidence)
    if writes is None:
        return 0, 0, 0, 0
    tried = (writes.is_after_accepted & writes.is_answered) | stale[writes.rows]
    counted = (writes.is_late, tried, tried & writes.rejected, tried & writes.accepted)
    late, attempted, rejected, accepted = map(int, map(np.count_nonzero, counted))
    return late, attempted, rejected, accepted


def _logged_after_higher(evidence: Evidence) -> Ints:
    """Return the rows of the writes that the log has after something with a higher token."""
    log = evidence.log
    if log is None or not len(log):
        return NO_ROWS
    below = ~log.fence & (log.height > 0) & (log.height < log.marks) & (log.row >= 0)
    return log.row[below]


def _below(zones: ZoneColumns, mark: Summit, rows: Ints) -> Flags:
    """Which of some writes carry a lower token than the mark had before they were called?"""
    return zones.height[rows] < mark.before(zones.ranks.called[rows])


def _seen_below(zones: ZoneColumns) -> Flags:
    """Which writes that took effect were read when a write with a higher token had succeeded?

    A fence replaces no value: a read after it may return an older one.
    """
    written = slice(zones.initials, zones.bare)
    mark = _succeeded(zones, NO_ROWS)
    return zones.level[written] < mark.before(zones.claimed[written])


def _succeeded(zones: ZoneColumns, fences: Ints) -> Summit:
    """Return the highest token of the writes and these fences that had surely succeeded by each moment."""
    known = zones.initials + indices(zones.settled[zones.initials : zones.bare] != UNRANKED)
    return Summit(
        zones.ranks.size,
        np.concatenate((zones.settled[known], zones.ranks.returned[fences])),
        np.concatenate((zones.level[known], zones.height[fences])),
    )

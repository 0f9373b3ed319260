"""Coverage: a run that never challenged the fence proves nothing about it."""

from __future__ import annotations

import math
from collections import Counter

from checkers.facts.evidence import Evidence
from checkers.facts.hits import hits_of
from checkers.facts.narrowing import count_of_grants
from checkers.verdict.attempts import attempts
from checkers.vocabulary.counts import COVERAGE
from checkers.vocabulary.fault_kinds import KINDS
from checkers.vocabulary.hazards import Hit


def coverage(evidence: Evidence) -> dict[str, int]:
    """Count what the run challenged, by the names of `COVERAGE` and the header's kinds of faults.

    A fault counts once it was seen in force and seen healed; the kill of a client has no end. A late write
    was called after a newer token had been granted, whatever became of it. `attempts` says which stale
    writes were tried. A write that failed for another reason than a fence, such as a missing
    connection, challenged nothing; nor did one without an answer, unless it took effect.

    Where the lock gives no tokens, a later hold counts as a higher token (see `hold_order`).

    A strict fence that refuses a holder's own second write has not been
    challenged: the tokens are equal.
    """
    counts = dict.fromkeys(COVERAGE, 0)
    counts["grants"] = count_of_grants(evidence)
    _count_faults(counts, evidence)
    return counts | attempts(evidence)


def _count_faults(counts: dict[str, int], evidence: Evidence) -> None:
    counting = [each for each in hits_of(evidence) if each.counts]
    times = Counter(each.fault.words.count for each in counting)
    for kind in (*KINDS.values(), *evidence.history.header.faults.values()):
        if kind.count is not None:
            counts[kind.count] = times[kind.count]
    past_lease = [
        (each.fault, hit)
        for each in counting
        for hit in each.holds
        if hit.past_lease and hit.whom is Hit.HOLDER
    ]
    counts["pauses_past_lease"] = len({id(fault) for fault, _ in past_lease if fault.kind == "pause"})
    others = {grant for fault, hit in past_lease if fault.healed < math.inf for grant in hit.others}
    counts["grants_to_others"] = len(others)

"""Double grant: two clients held the lock at once, and nothing in the record explains it.

For two grants to different owners, all of this holds when the later one returns:

- at least one has no promise: no answered acquire or renew of it carries a ttl;
- the other is not past its promised end;
- since it asked for the lock, neither owner had called a release or revoke, had a renew refused, or
  ended a call in info;
- no fault was in force since the earlier of the two calls.

A session may end for an unrecorded reason, so this accuses no client. But a run with a double grant is
not known to be right.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, lock_on, step
from checkers.explain.telling import took
from checkers.facts.evidence import Evidence, in_columns
from checkers.facts.leases import ENDS, Beliefs, by_owner, leases_of
from checkers.facts.narrowing import narrowed, of_beliefs
from checkers.history.columns import ABSENT, INFO, NEVER
from checkers.history.faults import Faults, faults_of
from checkers.history.memoized import memoized
from checkers.history.ranges import AboveOfOthers
from checkers.history.records import Op, Outcome


def double_grants(evidence: Evidence) -> Iterator[Conflict]:
    """Yield grants to one owner while another held the lock, at least one of them without a promise."""
    pairs = _pairs(evidence, Faults(faults_of(evidence.history.faults)))
    return (HELD_BY_TWO.conflict(later, other) for later, other in pairs)


def under_faults(evidence: Evidence) -> int:
    """Return how many more double grants there would be if no fault had been in force."""
    faults = Faults(faults_of(evidence.history.faults))
    if not faults:
        return 0
    return len(list(_pairs(evidence, Faults([])))) - len(list(_pairs(evidence, faults)))


@dataclass(frozen=True, slots=True)
class _Hold:
    """A grant, and the earliest time at which its hold may have ended, in ns."""

    grant: Op
    until: float
    is_promised: bool


def _pairs(evidence: Evidence, faults: Faults) -> Iterator[tuple[Op, Op]]:
    """Yield each grant made while another was held, with the other grant."""
    return (pair for holds in _holds_of(evidence) for pair in _held_by_two(holds, faults))


@memoized
def _holds_of(evidence: Evidence) -> list[list[_Hold]]:
    """Return the holds, by the return of their grants, of each resource that has one without a promise."""
    found = []
    involved = narrowed(evidence, of_beliefs).by_resource("acquire", "renew", *ENDS)
    unanswered = _unanswered(evidence) if involved else {}
    for _, operations in sorted(involved.items()):
        holds = [hold for each in by_owner(operations).values() for hold in _holds(each, unanswered)]
        if not all(hold.is_promised for hold in holds):
            found.append(sorted(holds, key=lambda hold: (hold.grant.over, hold.grant.index)))
    return found


def _held_by_two(holds: Sequence[_Hold], faults: Faults) -> Iterator[tuple[Op, Op]]:
    until = np.array([min(hold.until, NEVER) for hold in holds])
    called = np.array([hold.grant.called for hold in holds])
    unpromised = np.array([not hold.is_promised for hold in holds], dtype=np.int64)
    longest = np.append(ABSENT, np.maximum.accumulate(until)[:-1])  # among the holds that returned earlier
    others = AboveOfOthers([hold.grant.owner for hold in holds], until, called, unpromised)
    for place, hold in enumerate(holds):
        returned = hold.grant.over
        begun = bisect_right(faults.began, returned)
        healed = faults.healed_by_then[begun - 1] if begun else -math.inf  # the last that had begun by then
        if min(hold.until, longest[place]) <= returned or hold.grant.called <= healed:
            continue
        other = others.first(hold.grant.owner, (returned, healed, -unpromised[place]))
        if other is not None and other < place:
            yield hold.grant, holds[other].grant


def _holds(own: Sequence[Op], unanswered: Mapping[int, Sequence[int]]) -> Iterator[_Hold]:
    """Yield the holds of an owner; `own` is what it did with one lock, by call."""
    beliefs = Beliefs(own)
    lost = sorted(op.called if op.learned is None else op.learned for op in own if op.outcome is Outcome.INFO)
    for lease in leases_of(own):
        grant, is_promised = lease.grant, lease.set_by is not None
        until = min(beliefs.end(grant), lease.end if is_promised else math.inf)
        for moments in (lost, unanswered.get(grant.process, ())):
            place = bisect_left(moments, grant.called)
            if place < len(moments):
                until = min(until, moments[place])
        yield _Hold(grant=grant, until=until, is_promised=is_promised)


def _unanswered(evidence: Evidence) -> dict[int, list[int]]:
    """Return when the info calls of each process ended (if unknown, when they began), in ns and in order."""
    columns = in_columns(evidence).columns
    rows = np.flatnonzero(columns.outcome == INFO)
    moments = np.where(columns.learned[rows] == ABSENT, columns.called[rows], columns.learned[rows])
    found: dict[int, list[int]] = defaultdict(list)
    for process, moment in sorted(zip(columns.process[rows].tolist(), moments.tolist(), strict=True)):
        found[process].append(moment)
    return found


def _held_by_two_story(n: Narrator, conflict: Conflict) -> Story:
    later, other = conflict.accused, conflict.because[0]
    began, granted = min(later.called, other.called), n.at(later.returned or 0)
    is_ordered = (other.returned or 0) < later.sent
    session = f"the session of {n.whom(other)}" if is_ordered else "one of their sessions"
    return Story(
        summary=(
            f"{n.whom(other)} and {n.whom(later)} both held {lock_on(later.resource)} from"
            f" {granted} on, at least one of them without a promised lease"
        ),
        steps=(
            *n.grant_steps(other, later),
            step(
                f"By then, neither {n.whom(other)} nor {n.whom(later)} had started to release it, been"
                " refused a renewal or waited for an answer in vain,"
                f" and from {n.at(began)} on no fault was in force."
            ),
            step(
                "At least one of the two grants came without a ttl, and no renewal of it was recorded with a"
                " ttl."
            ),
            step(f"So the lock was given to two clients, unless {session} had ended and nobody recorded it."),
        ),
        others=chain(*(n.own(grant, grant.called, later.returned or 0) for grant in (other, later))),
        sentences=(
            took(n, other),
            f"{n.who(later)} was granted it too, at {granted}, and neither had given it back.",
            f"Nobody recorded that {session} had ended.",
        ),
    )


# because: the other's grant
HELD_BY_TWO = Breach("double-grant", "held-by-two", _held_by_two_story)

CHECKER = Checker("double-grant", "observed", double_grants)

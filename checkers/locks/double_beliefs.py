"""Double beliefs: did two clients both believe that they held a lock?

It is counted, and no violation: under pauses it is bound to happen.
Belief lasts from the acquire's return to the release's call or the return of a renew
that failed, or until the client is killed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from checkers.checker import Checker
from checkers.conflict import Breach, Conflict
from checkers.evidence import Evidence
from checkers.explain.narrator import Narrator, Story
from checkers.explain.phrases import lock_on
from checkers.history.faults import client_of, faults_of
from checkers.history.records import Op, Outcome
from checkers.locks.holds import narrowed, of_beliefs
from checkers.locks.leases import granted


def double_beliefs(evidence: Evidence) -> Iterator[Conflict]:
    """Grants to one owner while another still believed that it held the lock (only counted).

    Belief lasts from the acquire's return to the release's call or the return
    of a renew that failed; a client that is killed believes nothing any more.
    """
    killed_at = _killed_at(evidence)
    involved = narrowed(evidence, of_beliefs)
    for _, operations in sorted(involved.by_resource("acquire", "renew", "release", "revoke").items()):
        by_owner: dict[str | None, list[Op]] = defaultdict(list)
        for op in operations:
            by_owner[op.owner].append(op)
        believing: list[tuple[float, Op]] = []
        for grant in sorted(granted(operations), key=lambda op: op.returned or 0):
            returned = grant.returned or 0
            believing = [each for each in believing if each[0] > returned]
            others = [each for each in believing if each[1].owner != grant.owner]
            if others:
                yield BOTH_BELIEVED.conflict(grant, others[0][1])
            believing.append((min(killed_at(grant), belief_end(grant, by_owner[grant.owner])), grant))


def _killed_at(evidence: Evidence) -> Callable[[Op], float]:
    """Return when the client of an operation was killed; infinity if it was not."""
    header = evidence.history.header
    if header.clients is None:
        return lambda _op: math.inf
    kills = (fault for fault in faults_of(evidence.history.faults) if fault.kind == "kill")
    moments = {fault.client: fault.began for fault in kills}
    return lambda op: moments.get(client_of(op.process, header), math.inf)


def belief_end(grant: Op, operations: Iterable[Op]) -> float:
    """When the owner of these operations stopped to believe that it held this grant."""
    ends = [math.inf]
    for op in operations:
        if op.f in {"release", "revoke"} and (op.returned is None or op.returned >= grant.called):
            ends.append(op.called)
        elif op.f == "renew" and op.outcome is Outcome.FAIL and not op.precedes(grant):
            ends.append(max(op.returned or 0, grant.returned or 0))
    return min(ends)


def _both_believed(n: Narrator, conflict: Conflict) -> Story:
    grant, other = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(grant)} and {n.whom(other)} both believed that they held {lock_on(grant.resource)}"
        ),
        steps=(
            *n.grant_steps(other, grant),
            f"{n.who(other)} had not started to release it, and none of its renewals had failed.",
        ),
    )


# because: the other's grant
BOTH_BELIEVED = Breach(anomaly="double-belief", rule="both-believed", story=_both_believed)

CHECKER = Checker(name="double-belief", evidence="observed", decides=("double-belief",), check=double_beliefs)

"""Double beliefs: did two clients both believe that they held a lock?

It is counted, and no violation: under pauses it is bound to happen.
Belief lasts from the acquire's return to the release's call or the return of a renew
that failed, or until the client is killed.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

import numpy as np

from checkers.explain.checker import Checker
from checkers.explain.conflict import Breach, Conflict
from checkers.explain.narrator import Narrator, Story
from checkers.explain.phrases import lock_on
from checkers.facts.evidence import Evidence
from checkers.facts.holds import narrowed, of_beliefs
from checkers.facts.leases import ENDS, granted
from checkers.history.columns import NEVER
from checkers.history.faults import client_of, faults_of
from checkers.history.ranges import Above
from checkers.history.records import Op, Outcome


def double_beliefs(evidence: Evidence) -> Iterator[Conflict]:
    """Grants to one owner while another still believed that it held the lock (only counted).

    Belief lasts from the acquire's return to the release's call or the return
    of a renew that failed; a client that is killed believes nothing any more. There is none if that is
    not after the acquire's return.
    """
    end_of_client = killed_at(evidence)
    involved = narrowed(evidence, of_beliefs)
    for _, operations in sorted(involved.by_resource("acquire", "renew", "release", "revoke").items()):
        by_owner: dict[str | None, list[Op]] = defaultdict(list)
        for op in operations:
            by_owner[op.owner].append(op)
        ended = {owner: Beliefs(own) for owner, own in by_owner.items()}
        grants = sorted(granted(operations), key=lambda op: op.returned or 0)
        ends = [min(end_of_client(grant), ended[grant.owner].end(grant)) for grant in grants]
        numbers = {owner: number for number, owner in enumerate(ended)}
        number = np.array([numbers[grant.owner] for grant in grants], dtype=np.int64)
        end = np.array([min(each, NEVER) for each in ends], dtype=np.int64)
        sides = Above(end, number), Above(end, -number)
        for place, grant in enumerate(grants):
            if ends[place] <= (grant.returned or 0):
                continue  # it was over before it began
            limits = (grant.returned or 0, number[place]), (grant.returned or 0, -number[place])
            found = [side.first(each) for side, each in zip(sides, limits, strict=True)]
            other = min((each for each in found if each is not None), default=place)
            if other < place:
                yield BOTH_BELIEVED.conflict(grant, grants[other])


def killed_at(evidence: Evidence) -> Callable[[Op], float]:
    """Return when the client of an operation was killed after it had called that; infinity if it was not."""
    header = evidence.history.header
    if header.clients is None:
        return lambda _op: math.inf
    kills: dict[int | None, list[int]] = defaultdict(list)  # of each client, in the order of time
    for fault in faults_of(evidence.history.faults):
        if fault.kind == "kill":
            kills[fault.client].append(fault.began)

    def killed(op: Op) -> float:
        own = kills.get(client_of(op.process, header), [])
        after = bisect_left(own, op.called)
        return own[after] if after < len(own) else math.inf

    return killed


class Beliefs:
    """When the owner of some operations stopped to believe that it held a grant."""

    def __init__(self, operations: Iterable[Op]) -> None:
        operations = list(operations)
        given_back = sorted((_over(op), op.called) for op in operations if op.f in ENDS)
        self._given_back = [returned for returned, _ in given_back]
        called = (called for _, called in reversed(given_back))
        self._first_call = [*accumulate(called, min, initial=math.inf)][::-1]  # of those from each one on
        refused = (op for op in operations if op.f == "renew" and op.outcome is Outcome.FAIL)
        self._lost = sorted(map(_over, refused))

    def end(self, grant: Op) -> float:
        """When it stopped to believe in this grant."""
        given_back = self._first_call[bisect_left(self._given_back, grant.called)]
        lost = bisect_left(self._lost, grant.called)
        return min(
            given_back, max(self._lost[lost], grant.returned or 0) if lost < len(self._lost) else math.inf
        )


def _over(op: Op) -> float:
    return math.inf if op.returned is None else op.returned


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

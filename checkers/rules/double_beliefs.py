"""Double-belief: two clients believed at the same time that they held a lock.

It is only counted: pauses make it inevitable. Belief lasts from the return of the acquire to the call of
the release, the return of a failed renewal, or the end of the client's process.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, lock_on, step
from checkers.facts.evidence import Evidence
from checkers.facts.leases import Beliefs, by_owner, granted
from checkers.facts.narrowing import narrowed, of_beliefs
from checkers.history.columns import NEVER
from checkers.history.faults import faults_of, gone_at
from checkers.history.ranges import AboveOfOthers


def double_beliefs(evidence: Evidence) -> Iterator[Conflict]:
    """Yield grants to one owner while another still believed that it held the lock.

    A belief that would end before the acquire returns never begins.
    """
    end_of_client = gone_at(evidence.history.header, faults_of(evidence.history.faults))
    involved = narrowed(evidence, of_beliefs)
    for _, operations in sorted(involved.by_resource("acquire", "renew", "release", "revoke").items()):
        ended = {owner: Beliefs(own) for owner, own in by_owner(operations).items()}
        grants = sorted(granted(operations), key=lambda op: op.over)
        ends = [min(end_of_client(grant), ended[grant.owner].end(grant)) for grant in grants]
        end = np.array([min(each, NEVER) for each in ends])
        others = AboveOfOthers([grant.owner for grant in grants], end)
        for place, grant in enumerate(grants):
            if ends[place] > grant.over:
                other = others.first(grant.owner, (grant.over,))
                if other is not None and other < place:
                    yield BOTH_BELIEVED.conflict(grant, grants[other])


def _both_believed(n: Narrator, conflict: Conflict) -> Story:
    grant, other = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(grant)} and {n.whom(other)} both believed that they held {lock_on(grant.resource)}"
        ),
        steps=(
            *n.grant_steps(other, grant),
            step(f"{n.who(other)} had not started to release it, and none of its renewals had failed."),
        ),
        sentences=(
            f"{n.who(other)} was granted {lock_on(grant.resource)}, and had not given it back.",
            f"{n.who(grant)} was granted it too, at {n.at(grant.returned or 0)}.",
        ),
    )


# because: the other's grant
BOTH_BELIEVED = Breach("double-belief", "both-believed", _both_believed)

CHECKER = Checker("double-belief", "observed", double_beliefs)

"""Double beliefs: did two clients both believe that they held a lock?

It is counted, and no violation: under pauses it is bound to happen.
Belief lasts from the acquire's return to the release's call or the return of a renew
that failed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator

from checkers.columnar.hold_columns import narrowed, of_beliefs
from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.grants import granted
from checkers.records import Op, Outcome


def double_beliefs(evidence: Evidence) -> Iterator[Conflict]:
    """Grants to one owner while another still believed that it held the lock (only counted).

    Belief lasts from the acquire's return to the release's call or the return
    of a renew that failed.
    """
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
                yield Conflict(
                    anomaly="double-belief",
                    rule=Rule.BOTH_BELIEVED,
                    accused=grant,
                    because=(others[0][1],),
                )
            believing.append((belief_end(grant, by_owner[grant.owner]), grant))


def belief_end(grant: Op, operations: Iterable[Op]) -> float:
    """When the owner of these operations stopped to believe that it held this grant."""
    ends = [math.inf]
    for op in operations:
        if op.f in {"release", "revoke"} and (op.returned is None or op.returned >= grant.called):
            ends.append(op.called)
        elif op.f == "renew" and op.outcome is Outcome.FAIL and not op.precedes(grant):
            ends.append(max(op.returned or 0, grant.returned or 0))
    return min(ends)

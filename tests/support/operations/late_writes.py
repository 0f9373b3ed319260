"""Late-write, which is counted: a superseded holder wrote before its successor did.

The fence cannot see it, because it has not met the newer token yet. It is what
makes lost updates possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence
from checkers.facts.high_water import HighWater
from checkers.facts.leases import granted
from checkers.history.memoized import memoized
from checkers.history.records import Op
from checkers.rules.late_writes import AFTER_NEWER_GRANT
from checkers.rules.stale_writes import came_after_higher
from tests.support.operations.fencing import observed, resolved, stale_in_log
from tests.support.operations.registers import registers


def late_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Accepted writes, called after a newer token had been granted, with no newer one before them."""
    stale = stale_writes(evidence)
    grants = newest_grants(evidence)
    for register in registers(evidence):
        for zone in register.written:
            if zone.write is None or zone.write.index in stale:
                continue
            grant = superseded_by(zone.write, grants)
            if grant is not None:
                yield Conflict(
                    anomaly="late-write",
                    breach=AFTER_NEWER_GRANT,
                    accused=zone.write,
                    because=(grant,),
                )


@memoized
def stale_writes(evidence: Evidence) -> AbstractSet[int]:
    """The indexes of the stale writes, by the log where there is one."""
    return {each.accused.index for each in _stale_writes(evidence)}


def writes_after_newer(evidence: Evidence) -> AbstractSet[int]:
    """Those of them that came after a value with a higher token, not with an equal one."""
    return {each.accused.index for each in _stale_writes(evidence) if came_after_higher(each)}


@memoized
def _stale_writes(evidence: Evidence) -> Sequence[Conflict]:
    by_log = chain(stale_in_log(evidence), resolved(evidence))
    conflicts = observed(evidence) if evidence.log is None else by_log
    return [each for each in conflicts if each.anomaly == "stale-write"]


@memoized
def newest_grants(evidence: Evidence) -> dict[str, HighWater[Op]]:
    """For each resource, the highest token granted before a moment."""
    return {
        resource: _by_return(granted(operations))
        for resource, operations in evidence.by_resource("acquire").items()
    }


def superseded_by(write: Op, grants: dict[str, HighWater[Op]]) -> Op | None:
    """The grant of a newer token that had returned when the write was called."""
    newest = grants.get(write.resource)
    found = None if newest is None else newest.before(write.called)
    if found is None or write.token is None or found[0] <= write.token:
        return None
    return found[1]


def _by_return(grants: Sequence[Op]) -> HighWater[Op]:
    return HighWater(
        (grant.returned, grant.token, grant)
        for grant in grants
        if grant.returned is not None and grant.token is not None
    )

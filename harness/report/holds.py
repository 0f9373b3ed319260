"""Holds of a lock: from when the client was told, to when the lease ran out and when it stopped believing.

How long a lease was promised is the checkers' to say: it is taken from them, never computed here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from checkers.double_beliefs import belief_end
from checkers.evidence import gather
from checkers.history import History, Op, Outcome
from checkers.leases import ENDS, Lease, leases
from harness.report.lanes import Lanes


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One grant, and how long it was good for. Times in ns."""

    grant: int  # index of the acquire
    lane: int
    resource: str
    owner: str | None
    token: int | None
    granted: int
    promised: int | None  # the end of the lease, by the checkers; None: nothing was promised
    ended: int | None  # when the client stopped believing in it, by the checkers; None: it never did
    renewals: int
    last_used: int  # the last sign that the client believed in it

    @property
    def leased_until(self) -> int:
        """The end of the time in which the lock was safely this client's."""
        return max(self.granted, self.believed_until if self.promised is None else self.promised)

    @property
    def believed_until(self) -> int:
        """The end of the time in which the client took itself for the holder."""
        return self.last_used if self.ended is None else max(self.granted, self.ended)


def holds(history: History, lanes: Lanes) -> tuple[Hold, ...]:
    """Every grant of a history, in the order of the calls."""
    by_owner: defaultdict[tuple[str, str | None], list[Op]] = defaultdict(list)
    last_uses: defaultdict[tuple[str, int | None, int], int] = defaultdict(int)
    for op in history.operations:
        if op.f == "renew" or op.f in ENDS:
            by_owner[op.resource, op.owner].append(op)
        elif op.f != "acquire":
            key = op.resource, op.token, lanes.lane(op.process)
            last_uses[key] = max(last_uses[key], end_of(op))
    promised = (lease for of_resource in leases(gather(history)) for lease in of_resource)
    found = (
        _hold(lease, lanes.lane(lease.grant.process), by_owner[_key(lease.grant)], last_uses)
        for lease in promised
    )
    return tuple(sorted(found, key=lambda hold: hold.grant))


def _key(grant: Op) -> tuple[str, str | None]:
    return grant.resource, grant.owner


def _hold(
    lease: Lease, lane: int, of_owner: Iterable[Op], last_uses: Mapping[tuple[str, int | None, int], int]
) -> Hold:
    grant = lease.grant
    granted = end_of(grant)
    ended = belief_end(grant, of_owner)
    return Hold(
        grant=grant.index,
        lane=lane,
        resource=grant.resource,
        owner=grant.owner,
        token=grant.token,
        granted=granted,
        promised=int(lease.end) if math.isfinite(lease.end) else None,
        ended=int(ended) if math.isfinite(ended) else None,
        renewals=sum(_renews(op) and granted <= op.called <= ended for op in of_owner),
        last_used=max(granted, last_uses.get((grant.resource, grant.token, lane), granted)),
    )


def _renews(op: Op) -> bool:
    return op.f == "renew" and op.outcome is Outcome.OK


def end_of(operation: Op) -> int:
    """When the client stopped waiting for an operation; its call where that was never seen."""
    for moment in (operation.returned, operation.learned):
        if moment is not None:
            return moment
    return operation.called

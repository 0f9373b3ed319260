"""Holds of a lock: from when the client was told, to when the lease ran out and when it stopped believing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from checkers.history import History, Op, Outcome
from harness.report.lanes import Lanes

_LEAVES = {"release", "revoke"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One grant, and how long it was good for. Times in ns."""

    grant: int  # index of the acquire
    lane: int
    resource: str
    owner: str | None
    token: int | None
    granted: int
    promised: int | None  # when the lease ends as promised; None: nothing was promised
    ended: int | None  # when the client gave it up; None: it never did
    renewals: int
    last_used: int  # the last sign that the client believed in it

    @property
    def leased_until(self) -> int:
        """The end of the time in which the lock was safely this client's."""
        ends = [end for end in (self.promised, self.ended) if end is not None]
        return max(self.granted, min(ends, default=self.last_used))

    @property
    def believed_until(self) -> int:
        """The end of the time in which the client took itself for the holder."""
        return self.last_used if self.ended is None else max(self.granted, self.ended)


def holds(history: History, lanes: Lanes) -> tuple[Hold, ...]:
    """Every grant of a history, in the order of the calls."""
    by_owner: defaultdict[tuple[str, str | None], list[Op]] = defaultdict(list)
    uses: defaultdict[tuple[str, int | None, int], list[Op]] = defaultdict(list)
    grants: list[Op] = []
    for operation in history.operations:
        if operation.f in {"renew", *_LEAVES}:
            by_owner[operation.resource, operation.owner].append(operation)
        elif operation.f == "acquire":
            if operation.outcome is Outcome.OK:
                grants.append(operation)
        else:
            lane = lanes.lane(operation.process)
            uses[operation.resource, operation.token, lane].append(operation)
    return tuple(
        _hold(
            grant,
            lanes.lane(grant.process),
            by_owner[grant.resource, grant.owner],
            uses[grant.resource, grant.token, lanes.lane(grant.process)],
        )
        for grant in grants
    )


def _hold(grant: Op, lane: int, of_owner: Iterable[Op], uses: Iterable[Op]) -> Hold:
    granted = grant.called if grant.returned is None else grant.returned
    leaves = [op.called for op in of_owner if op.f in _LEAVES and op.called >= granted]
    ended = min(leaves, default=None)
    renewals = [
        op
        for op in of_owner
        if op.f == "renew" and op.outcome is Outcome.OK and (ended is None or op.called <= ended)
    ]
    ends = [op.called + op.ttl for op in renewals if op.ttl is not None]
    if grant.ttl is not None:
        ends.append((grant.called if grant.attempt is None else grant.attempt) + grant.ttl)
    return Hold(
        grant=grant.index,
        lane=lane,
        resource=grant.resource,
        owner=grant.owner,
        token=grant.token,
        granted=granted,
        promised=max(ends, default=None),
        ended=ended,
        renewals=sum(op.called >= granted for op in renewals),
        last_used=max((end_of(op) for op in uses if op.called >= granted), default=granted),
    )


def end_of(operation: Op) -> int:
    """When the client stopped waiting for an operation; its call where that was never seen."""
    for moment in (operation.returned, operation.learned):
        if moment is not None:
            return moment
    return operation.called

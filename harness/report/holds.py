"""Holds of a lock: from when the history shows the grant until the client's lease or its belief ended.

The ends of leases come from the checkers; they are never computed here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from checkers.facts.leases import Beliefs, Lease, leases_of
from checkers.facts.surroundings import GrantStops
from checkers.history import columns as kinds
from checkers.history.columns import ABSENT, OK, Flags, Ints, Operations
from checkers.history.records import Op, Outcome
from harness.report.lanes import Lanes
from harness.report.rows import Grants, GroupedRows, ends, keys_by_owner


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnHold:
    """One grant, and how long it lasted. Times in ns."""

    grant: int  # index of the acquire
    lane: int
    resource: str
    owner: str | None
    token: int | None
    held_from: int  # when the history first shows the grant: it may know of it before its answer came
    granted: int
    promised: int | None  # the end of the lease, by the checkers; None: nothing was promised
    ended: int | None  # when the client stopped believing in it, by the checkers; None: it never did
    renewals: int
    last_used: int  # the last sign that the client believed in it

    @property
    def leased_until(self) -> int:
        """The end of the time in which the lock was safely this client's."""
        return max(self.held_from, self.believed_until if self.promised is None else self.promised)

    @property
    def believed_until(self) -> int:
        """The end of the time in which the client believed that it was the holder."""
        return self.last_used if self.ended is None else max(self.granted, self.ended)


class Holds:
    """The holds of a run; an owner's holds are computed when one of them is first needed."""

    def __init__(self, operations: Sequence[Op], lanes: Lanes, stops: GrantStops) -> None:
        self._operations, self._lanes, self._stops = Operations.of(operations), lanes, stops
        self.grants = Grants(self._operations)
        columns = self._operations.columns
        self._ends = ends(columns)
        self._keys = keys_by_owner(columns)
        asked = columns.rows(kinds.ACQUIRE, kinds.RENEW, kinds.RELEASE, kinds.REVOKE)
        self._by_owner = GroupedRows(asked, self._keys[asked])
        self._known: dict[int, DrawnHold] = {}

    def __iter__(self) -> Iterator[DrawnHold]:
        """Every hold, in the order of the calls."""
        return self._at(self.grants.rows)

    def among(self, rows: Ints) -> Iterator[DrawnHold]:
        """The holds that some operations began."""
        return self._at(self.grants.rows[np.isin(self.grants.rows, rows)])

    def of_grant(self, grant: int) -> DrawnHold | None:
        """The hold that an operation began; None if it began none."""
        return next(self._at(np.array([grant]))) if self.grants.has(grant) else None

    def under(self, op: Op) -> DrawnHold | None:
        """The hold that an operation was done under: of those with its token or owner, the last before it."""
        rows = self.grants.like(op)
        rows = rows[self._ends[rows] <= op.called]
        rows = rows[self._lanes.of(self._operations.columns.process[rows]) == self._lanes.lane(op.process)]
        return next(self._at(rows[[np.argmax(self._ends[rows])]])) if len(rows) else None

    def promised_within(self, resource: str, start: int, end: int) -> Iterator[DrawnHold]:
        """The holds of a resource whose lease ended within an interval."""
        columns = self._operations.columns
        rows = self.grants.of_resource(resource)
        rows = rows[columns.called[rows] <= end]
        rows = rows[self._promised_at_most[rows] >= start] if len(rows) else rows
        found = self._at(rows)
        return (hold for hold in found if hold.promised is not None and start <= hold.promised <= end)

    @cached_property
    def renewed_while_waiting(self) -> Flags:
        """For each row: is it a renewal that was called before its owner was first granted the lock?"""
        columns, grants = self._operations.columns, self.grants.rows
        first = GroupedRows(grants, self._keys[grants]).greatest(-self._ends[grants], self._keys)
        waiting: Flags = (columns.f == kinds.RENEW) & ((first == ABSENT) | (columns.called < -first))
        return waiting

    @cached_property
    def _promised_at_most(self) -> Ints:
        """For each row of a grant: no promise to its owner ended later (ns)."""
        columns, grants = self._operations.columns, self.grants.rows
        rows = columns.rows(kinds.ACQUIRE, kinds.RENEW)
        rows = rows[(columns.outcome[rows] == OK) & (columns.ttl[rows] != ABSENT)]
        promised = self._ends[rows] + columns.ttl[rows]
        latest = np.full(len(columns), ABSENT, dtype=np.int64)
        latest[grants] = GroupedRows(rows, self._keys[rows]).greatest(promised, self._keys[grants])
        return latest

    @cached_property
    def _last_used(self) -> Ints:
        """For each row of a grant: when its client last ended a call with its token or owner (ns)."""
        columns, grants = self._operations.columns, self.grants.rows
        used = columns.rows(kinds.WRITE, kinds.FENCE, kinds.READ, kinds.APPEND)
        rows = np.concatenate((grants, used))
        _, keys = np.unique(self.grants.keys[rows], return_inverse=True)
        keys = keys * len(self._lanes.names) + self._lanes.of(columns.process[rows])
        by_client = GroupedRows(used, keys[len(grants) :])
        latest = np.full(len(columns), ABSENT, dtype=np.int64)
        latest[grants] = by_client.greatest(self._ends[used], keys[: len(grants)])
        return latest

    def _at(self, grants: Ints) -> Iterator[DrawnHold]:
        new = {self._keys[grant] for grant in grants.tolist() if grant not in self._known}
        if new:
            asked = self._by_owner.of_each(np.array([*new]))
            own = self._operations.at(np.concatenate(asked))  # all at once: one owner has only a few
            for rows in asked:
                self._know(list(itertools.islice(own, len(rows))))
        return map(self._known.__getitem__, grants.tolist())

    def _know(self, own: Sequence[Op]) -> None:
        """Compute the holds of one owner of one lock; `own` are all its operations on it."""
        after = [op for op in own if op.f != "acquire"]
        beliefs = Beliefs(after)
        for lease in leases_of(own):
            self._known[lease.grant.index] = self._hold(lease, after, beliefs.end(lease.grant))

    def _hold(self, lease: Lease, after: Sequence[Op], ended: float) -> DrawnHold:
        grant = lease.grant
        granted = end_of(grant)
        return DrawnHold(
            grant=grant.index,
            lane=self._lanes.lane(grant.process),
            resource=grant.resource,
            owner=grant.owner,
            token=grant.token,
            held_from=min([granted, *(max(grant.called, stop.began) for stop in self._stops.of(grant))]),
            granted=granted,
            promised=int(lease.end) if math.isfinite(lease.end) else None,
            ended=int(ended) if math.isfinite(ended) else None,
            renewals=sum(
                op.f == "renew" and op.outcome is Outcome.OK and granted <= op.called <= ended for op in after
            ),
            last_used=max(granted, int(self._last_used[grant.index])),
        )


def end_of(operation: Op) -> int:
    """When the client stopped waiting for an operation; its call if no end was recorded."""
    for moment in (operation.returned, operation.learned):
        if moment is not None:
            return moment
    return operation.called

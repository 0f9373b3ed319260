"""The holds of a run, computed once: who held which lock, from when and until when.

A hold is the row of the acquire that was granted. It is *lost* at the earliest of these: the first
release or revoke of its owner was called; another owner's later grant returned; the promised lease
ended (see `leases`). Another grant is *later* if its request was sent after this one had returned, or
if it has a higher token; never if it had returned before this one's request was sent.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from checkers.facts.evidence import Evidence, in_columns, memoized_as_seen
from checkers.facts.hold_order import hold_order
from checkers.facts.leases import Lease, lease_of, leases_of
from checkers.facts.narrowing import GrantColumns, Groups
from checkers.history.columns import ABSENT, ACQUIRE, APPEND, NEVER, OK, RELEASE, REVOKE, WRITE, Flags, Ints
from checkers.history.faults import client_of
from checkers.history.ranks import stable_order
from checkers.history.records import Op


@memoized_as_seen
def holds_of(evidence: Evidence) -> HoldIndex:
    """Return the holds of a history."""
    return HoldIndex(evidence)


class HoldIndex:
    """The grants of a run by client, by owner and by resource, with the end of each hold; times in ns."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self.operations = in_columns(evidence)
        self.columns = columns = self.operations.columns
        clients = evidence.history.header.clients
        self.client = columns.process if clients is None else columns.process % clients
        self.granted: Flags = (columns.f == ACQUIRE) & (columns.outcome == OK)
        self.learned = np.where(columns.learned == ABSENT, columns.returned, columns.learned)
        self.sent = np.where(columns.attempt == ABSENT, columns.called, columns.attempt)
        self.start = np.where(columns.attempt == ABSENT, columns.returned, columns.attempt)  # granted by then
        self._leases: dict[tuple[int, int], dict[int, Lease]] = {}

    def lease(self, hold: int) -> Lease:
        """Return the lease of a hold, by everything that its owner did with the lock."""
        columns = self.columns
        key = int(columns.resource[hold]), int(columns.owner[hold])
        if key not in self._leases:
            leases = leases_of(self.operations.at(self.of_lock(hold)))
            self._leases[key] = {self.operations.row(each.grant): each for each in leases}
        return self._leases[key][hold]

    def promised_under(self, hold: int, began: int, ended: float = ABSENT) -> float:
        """Return the end of a hold's promise, by requests called by `began` or answered by `ended`.

        Its owner's releases and revokes are ignored. -infinity if nothing promised the hold.
        """
        if not self.granted[hold]:
            return -math.inf
        columns, own = self.columns, self.of_lock(hold)
        known = (columns.called[own] <= began) | (columns.returned[own] <= ended)
        own = own[(known & (columns.f[own] != RELEASE) & (columns.f[own] != REVOKE)) | (own == hold)]
        return lease_of(self.operations[hold], self.operations.at(own)).end

    def is_held_at(self, hold: int, moment: int) -> bool:
        """Was a hold not yet lost at a moment?"""
        lease = self.lease(hold)
        if lease.given_up <= moment or (lease.set_by is not None and lease.end <= moment):
            return False
        return not len(self._successors(hold, moment))

    def was_lost_before(self, hold: int, moment: int) -> bool:
        """Was a hold lost through anything that had happened before a moment?"""
        columns, own = self.columns, self.of_lock(hold)
        ended = (columns.f[own] == RELEASE) | (columns.f[own] == REVOKE)
        ended &= (columns.returned[own] >= columns.called[hold]) & (columns.called[own] < moment)
        is_over = -math.inf < self.promised_under(hold, moment - 1) < moment
        return bool(np.any(ended)) or is_over or len(self._successors(hold, moment - 1)) > 0

    def superseded_at(self, hold: int) -> float:
        """Return when another owner's first later grant returned; infinity if there was none."""
        rows = self._successors(hold, NEVER)
        return int(self.columns.returned[rows[0]]) if len(rows) else math.inf

    def _successors(self, hold: int, moment: int) -> Ints:
        """Return the later grants of other owners that had returned by a moment, by return."""
        columns = self.columns
        rows = self.granted_between(int(columns.resource[hold]), int(self.sent[hold]), moment)
        rows = rows[columns.owner[rows] != columns.owner[hold]]
        later: Ints = rows[self.came_after(rows, hold, int(columns.returned[hold]))]
        return later

    def came_after(self, rows: Ints, hold: int, granted_by: int) -> Flags:
        """Which of these grants came after this hold, which had been granted by `granted_by`?"""
        token = self.columns.token[hold]
        higher = (self.columns.token[rows] > token) & (token != ABSENT)
        later: Flags = higher | (self.sent[rows] > granted_by)
        return later

    def granted_between(self, resource: int, start: int, end: int) -> Ints:
        """Return the grants of a resource that returned in a closed interval, by return."""
        return self._by_return.of(resource, start, end)

    def of_client(self, client: int, began: int, ended: int) -> Ints:
        """Return the holds of a client that may have been held at some moment of an interval."""
        return self._held_by_client.of(client, began, ended)

    def of_owner(self, owner: str, resource: str | None) -> Ints:
        """Return the acquires of an owner, granted or not, on one resource or on all."""
        rows = self._by_owner.of(self._numbers.get(owner, len(self._numbers)))
        rows = rows[self.columns.f[rows] == ACQUIRE]
        names = map(self.columns.resources.__getitem__, self.columns.resource[rows].tolist())
        chosen: Ints = rows[[resource in {None, name} for name in names]]
        return chosen

    def of_resource(self, resource: int, moment: int) -> Ints:
        """Return the holds of a resource that were granted by a moment, and may not have been lost then."""
        return self._held_of_resource.of(resource, moment, moment)

    def acquires(self, client: int, until: int) -> Ints:
        """Return the acquires of a client that were called by a moment, by call."""
        return self._acquires.of(client, until=until)

    def section(self, hold: int) -> Ints:
        """Return the rows of what a hold's client did on its resource before its next acquire."""
        columns, client = self.columns, int(self.client[hold])
        rows, acquires = self._by_client.of(client), self._acquires.of(client)
        following = acquires[np.searchsorted(acquires, hold, side="right") :]
        end = np.searchsorted(rows, following[0]) if len(following) else len(rows)
        rows = rows[np.searchsorted(rows, hold, side="right") : end]
        own: Ints = rows[columns.resource[rows] == columns.resource[hold]]
        return own

    def grant_behind(self, op: Op) -> Op | None:
        """Return the grant of the hold that an operation belongs to, if it is known.

        This is the last grant with its token that its client had got by then, or else the first grant
        of any client with that token. Without a token, the owner decides.
        """
        if op.token is None:
            return hold_order(self._evidence).grant_behind(op)
        resource = self._resources.get(op.resource, len(self._resources))
        rows = self._by_token.of(resource)
        tokens = self.columns.token[rows]
        first, last = np.searchsorted(tokens, op.token), np.searchsorted(tokens, op.token, side="right")
        rows = rows[first:last]
        if not len(rows):
            return None
        client = client_of(op.process, self._evidence.history.header)
        own = rows[(self.client[rows] == client) & (self.columns.returned[rows] <= op.called)]
        return self.operations[int(own[-1] if len(own) else rows[0])]

    def of_lock(self, hold: int) -> Ints:
        """Return the rows of everything that a hold's owner did with its resource."""
        columns = self.columns
        rows = self._by_owner.of(int(columns.owner[hold]))
        own: Ints = rows[columns.resource[rows] == columns.resource[hold]]
        return own

    @cached_property
    def first_accepted(self) -> Ints:
        """When the first accepted write of each hold returned, by the row of its acquire; or NEVER."""
        columns = self.columns
        is_write = ((columns.f == WRITE) | (columns.f == APPEND)) & (columns.outcome == OK)
        rows = np.flatnonzero(is_write | (columns.f == ACQUIRE))
        rows = rows[stable_order(self.client[rows])]
        places = np.where(is_write[rows], 0, np.arange(len(rows)))
        latest = rows[np.maximum.accumulate(places)]
        written = is_write[rows] & ~is_write[latest] & (self.client[latest] == self.client[rows])
        written &= columns.resource[latest] == columns.resource[rows]
        first = np.full(len(columns), NEVER, dtype=np.int64)
        np.minimum.at(first, latest[written], columns.returned[rows[written]])
        return first

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.columns.owners)}

    @cached_property
    def _resources(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.columns.resources)}

    @cached_property
    def _grants(self) -> Ints:
        return np.flatnonzero(self.granted)

    @cached_property
    def _by_client(self) -> Groups:
        return Groups(self.client)

    @cached_property
    def _acquires(self) -> Groups:
        """The acquires of each client, by call."""
        rows = np.flatnonzero(self.columns.f == ACQUIRE)
        return Groups(self.client[rows], rows, self.columns.called[rows])

    @cached_property
    def _by_owner(self) -> Groups:
        return Groups(self.columns.owner)

    @cached_property
    def _by_return(self) -> Groups:
        rows = self._grants[stable_order(self.columns.returned[self._grants])]
        return Groups(self.columns.resource[rows], rows, self.columns.returned[rows])

    @cached_property
    def _by_token(self) -> Groups:
        """The grants of each resource by token, and by return for equal tokens."""
        order = np.lexsort((self.columns.returned[self._grants], self.columns.token[self._grants]))
        rows = self._grants[order]
        return Groups(self.columns.resource[rows], rows, self.columns.token[rows])

    @cached_property
    def _lost_at_most(self) -> Ints:
        """The latest moment at which each hold can have been lost, by its row; NEVER if unknown."""
        grants = GrantColumns(self._evidence)
        lost = np.full(len(self.columns), NEVER, dtype=np.int64)
        lost[grants.grants] = grants.kept_at_most()
        return lost

    @cached_property
    def _held_by_client(self) -> _Held:
        return _Held(self.client, self._grants, self.sent, self._lost_at_most)

    @cached_property
    def _held_of_resource(self) -> _Held:
        return _Held(self.columns.resource, self._grants, self.start, self._lost_at_most)


class _Held:
    """Grants grouped by number, each with its start and a moment by which it was certainly lost."""

    def __init__(self, numbers: Ints, grants: Ints, since: Ints, until: Ints) -> None:
        order = np.lexsort((since[grants], numbers[grants]))
        self._rows = grants[order]
        self._numbers, self._since = numbers[self._rows], since[self._rows]
        self._until = until[self._rows]
        self._longest: dict[int, Ints] = {}  # by number: the last loss up to each place

    def of(self, number: int, began: int, ended: int) -> Ints:
        """Return the grants of a number given by the end of an interval and not surely lost by its start."""
        first, last = np.searchsorted(self._numbers, [number, number + 1])
        if number not in self._longest:
            self._longest[number] = np.maximum.accumulate(self._until[first:last])
        begin = np.searchsorted(self._longest[number], began, side="right")
        end = np.searchsorted(self._since[first:last], ended, side="right")
        return self._rows[first:last][begin:end]

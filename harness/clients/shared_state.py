"""Shared memory between the clients and the nemesis.

Every field has one writer at a time, and all but `owner` and `failure` are machine words. There are no
locks, because a process that holds one may be stopped at any moment.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from multiprocessing.context import ForkServerContext
from typing import Any

NOBODY = -1
ANY = -1
STOP_POINTS = ("granted", "acquired", "list-read", "before-write", "write-sent", "before-release", "renewing")
NO_TOKEN = -1  # at "granted", where a client may not have its token yet, or of a lock that gives none
OUTSIDE = 0  # phase: not in a critical section; a stop point's phase is its index + 1
GRANTED = STOP_POINTS.index("granted") + 1
ACQUIRED = STOP_POINTS.index("acquired") + 1
LIST_READ = STOP_POINTS.index("list-read") + 1
RENEWING = STOP_POINTS.index("renewing") + 1  # in a thread of its own, so never a client's phase


class _Client(ctypes.Structure):
    _fields_ = (
        ("ready", ctypes.c_int64),
        ("phase", ctypes.c_int64),
        ("resource", ctypes.c_int64),
        ("token", ctypes.c_int64),
        ("sent", ctypes.c_int64),  # ns, CLOCK_MONOTONIC; when the granted request was sent, at the earliest
        ("granted", ctypes.c_int64),  # ns; when the client knew that it was granted
        ("owner", ctypes.c_char * 32),
        ("lease_end", ctypes.c_int64),  # ns; as the last answer about its lease promised it; 0: not known
        (
            "taken",
            ctypes.c_int64,
        ),  # reserved by a fault, from before it is in force until it was observed healed
        ("renewing", ctypes.c_int64),  # ns; when the renewal was sent that is in flight; 0: none is
        ("released", ctypes.c_int64),  # ns; when the release of its hold was called; 0: not yet
        ("stopped", ctypes.c_int64),  # set by the client before it stops itself
        ("awaited", ctypes.c_int64),  # the resource whose lock it waits for, plus 1; 0: none
        ("used_up", ctypes.c_int64),  # the errno that ended it, such as a full disk
        ("no_token", ctypes.c_int64),  # it ended because the fence needs a token, and the lock gave none
        ("failure", ctypes.c_char * 2000),  # why its program could not be used; it ends then
    )


class _StopRequest(ctypes.Structure):
    _fields_ = (
        ("point", ctypes.c_int64),  # 0: not armed
        ("resource", ctypes.c_int64),
        ("client", ctypes.c_int64),
        ("stopped_client", ctypes.c_int64),
        ("reserved_resource", ctypes.c_int64),  # the resource where the stopped client waits for a successor
    )


class _Written(ctypes.Structure):
    """The last hold of a client in which a write to a resource was accepted."""

    _fields_ = (
        ("token", ctypes.c_int64),  # 0: there is none
        ("sent", ctypes.c_int64),  # ns; as above
        ("granted", ctypes.c_int64),  # ns
    )


class _Run(ctypes.Structure):
    _fields_ = (("go", ctypes.c_int64), ("stop", ctypes.c_int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A hold as its client had announced it at some moment; by now the client may have another."""

    client: int
    resource: int
    owner: bytes
    token: int
    sent: int  # ns
    granted: int  # ns

    def precedes(self, other: Any) -> bool:
        """Is this a later hold of the same lock? Tokens do not decide against real time.

        Without a token it is later if it was granted later.
        """
        if self.token == NO_TOKEN:
            return bool(other.granted > self.granted)
        return bool(other.sent > self.granted or (other.token > self.token and other.granted >= self.sent))


@dataclass(frozen=True, slots=True)
class SharedState:
    """The state of all clients, and one stop request for each fault at a stop point."""

    run: Any  # _Run
    clients: Any  # array of _Client
    stop_requests: Any  # array of _StopRequest
    written: Any  # array of _Written, by client and resource
    operations: Any  # operations ended, by client
    writes: Any  # accepted writes, and those that a fence refused, by client
    came: Any  # how often a client came to each stop point
    chances: Any  # how often it could have come to one that its lock or storage reports
    resources: int

    @classmethod
    def create(
        cls, context: ForkServerContext, clients: int, resources: int, stop_requests: int
    ) -> SharedState:
        """Allocate the state in memory that child processes share."""
        unset = [(0, ANY, ANY, NOBODY, NOBODY)] * max(1, stop_requests)
        return cls(
            run=context.RawValue(_Run),
            clients=context.RawArray(_Client, clients),
            stop_requests=context.RawArray(_StopRequest, unset),
            written=context.RawArray(_Written, clients * resources),
            operations=context.RawArray(ctypes.c_int64, clients),
            writes=context.RawArray(ctypes.c_int64, clients * 2),
            came=context.RawArray(ctypes.c_int64, clients * len(STOP_POINTS)),
            chances=context.RawArray(ctypes.c_int64, clients * len(STOP_POINTS)),
            resources=resources,
        )

    def holders(self) -> Iterator[tuple[int, int, int]]:
        """Yield (client, resource, token) of each client that is in a critical section."""
        for number, client in enumerate(self.clients):
            if client.phase != OUTSIDE:
                yield number, client.resource, client.token

    def waiting_for(self, resource: int) -> int:
        """Return how many clients wait for the lock of a resource."""
        return sum(client.awaited == resource + 1 for client in self.clients)

    def held(self, client: int) -> Held:
        """Return the present hold of a client."""
        mine = self.clients[client]
        return Held(
            client=client,
            resource=mine.resource,
            owner=mine.owner,
            token=mine.token,
            sent=mine.sent,
            granted=mine.granted,
        )

    def is_held(self, hold: Held) -> bool:
        """Is its client still in that critical section?"""
        mine = self.clients[hold.client]
        return bool(mine.phase != OUTSIDE and mine.owner == hold.owner)

    def contested(self, hold: Held) -> bool:
        """Has a later holder read the list that it is about to change?"""
        return any(
            (other.phase, other.resource) == (LIST_READ, hold.resource) and hold.precedes(other)
            for other in self.clients
        )

    def regranted(self, hold: Held, by: float = math.inf) -> bool:
        """Does a later holder know that it was granted the lock, by some moment (ns)?"""
        present = (
            other
            for other in self.clients
            if other.phase not in (OUTSIDE, GRANTED) and other.resource == hold.resource
        )
        later = (each for each in chain(present, self._written_to(hold.resource)) if hold.precedes(each))
        return any(each.granted <= by for each in later)

    def freed(self, hold: Held) -> bool:
        """Has a later holder written and left the lock, so that it is free, and no client waits for it?"""
        is_held = any(
            client != hold.client and resource == hold.resource for client, resource, _ in self.holders()
        )
        return self.superseded(hold) and not is_held and not self.waiting_for(hold.resource)

    def superseded(self, hold: Held) -> bool:
        """Was a write accepted in a later hold?"""
        return any(map(hold.precedes, self._written_to(hold.resource)))

    def _written_to(self, resource: int) -> Sequence[Any]:
        """The last hold of each client in which a write to a resource was accepted."""
        of_each: Sequence[Any] = self.written[resource :: self.resources]
        return of_each

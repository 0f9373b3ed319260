"""Shared memory between the clients and the nemesis.

Every field has one writer at a time, and all but `owner` and `failure` are machine words. There are no
locks, because a process that holds one may be stopped at any moment.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
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
        ("granted", ctypes.c_int64),  # ns, CLOCK_MONOTONIC; when the client knew that it was granted
        ("owner", ctypes.c_char * 32),
        ("lease_end", ctypes.c_int64),  # ns; as the last answer about its lease promised it; 0: not known
        (
            "taken",
            ctypes.c_int64,
        ),  # reserved by a fault, from before it is in force until it was observed healed
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


class _Run(ctypes.Structure):
    _fields_ = (("go", ctypes.c_int64), ("stop", ctypes.c_int64))


@dataclass(frozen=True, slots=True)
class SharedState:
    """The state of all clients, and one stop request for each fault at a stop point."""

    run: Any  # _Run
    clients: Any  # array of _Client
    stop_requests: Any  # array of _StopRequest
    accepted: Any  # highest token accepted, by client and resource
    wrote: Any  # when the last hold with an accepted write was granted (ns), by client and resource
    operations: Any  # operations ended, by client
    writes: Any  # accepted writes, and those that a fence refused, by client
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
            accepted=context.RawArray(ctypes.c_int64, clients * resources),
            wrote=context.RawArray(ctypes.c_int64, clients * resources),
            operations=context.RawArray(ctypes.c_int64, clients),
            writes=context.RawArray(ctypes.c_int64, clients * 2),
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

    def contested(self, client: int, resource: int, token: int) -> bool:
        """Has another client with a higher token read the list that it is about to change?

        Without a token: a client that was granted the lock later.
        """
        mine = self.clients[client]
        return any(
            (other.phase, other.resource) == (LIST_READ, resource)
            and (other.granted > mine.granted if token == NO_TOKEN else other.token > token)
            for number, other in enumerate(self.clients)
            if number != client
        )

    def regranted(self, client: int, resource: int, token: int) -> bool:
        """Does another client know that it was granted the lock, with a higher token?

        Without a token: a client that was granted the lock later.
        """
        mine = self.clients[client]
        return self.superseded(client, resource, token) or any(
            other.phase not in (OUTSIDE, GRANTED)
            and other.resource == resource
            and (other.granted > mine.granted if token == NO_TOKEN else other.token > token)
            for number, other in enumerate(self.clients)
            if number != client
        )

    def superseded(self, client: int, resource: int, token: int) -> bool:
        """Was another client's write with a higher token accepted?

        Without a token: a write in a hold that was granted later.
        """
        least, others = (
            (self.clients[client].granted, self.wrote) if token == NO_TOKEN else (token, self.accepted)
        )
        by_client = enumerate(others[resource :: self.resources])
        return any(other > least for number, other in by_client if number != client)

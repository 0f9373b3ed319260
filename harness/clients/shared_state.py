"""Shared memory between the clients and the nemesis.

Every field has one writer at a time, and all but `owner` and `failure` are machine words. There are no
locks, because a process that holds one may be stopped at any moment.
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from multiprocessing.context import ForkServerContext
from typing import Any

from checkers.history.records import WRITES
from workloads.client import STALE, Answer

_POLL = 0.0005  # seconds
_AWAITED = 0.9  # TTLs in which a holder waits for a renewal: then its lease is nearly over
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
        ("ready", ctypes.c_int64),  # ns; when it was; 0: not yet
        ("process", ctypes.c_int64),  # the number under which it records its next operation
        ("renewer", ctypes.c_int64),  # likewise its next renewal
        ("sections", ctypes.c_int64),  # critical sections that it has begun, also in earlier OS processes
        ("phase", ctypes.c_int64),
        ("resource", ctypes.c_int64),
        ("token", ctypes.c_int64),
        ("sent", ctypes.c_int64),  # ns, CLOCK_MONOTONIC; when the granted request was sent, at the earliest
        ("granted", ctypes.c_int64),  # ns; when the client knew that it was granted
        ("owner", ctypes.c_char * 32),
        ("lease_end", ctypes.c_int64),  # ns; as the last answer about its lease promised it; 0: not known
        ("taken", ctypes.c_int64),  # by a fault, from before it is in force until it was observed healed
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
    _fields_ = (
        ("started", ctypes.c_int64),  # ns; when the clients began to work; 0: not yet
        ("stop", ctypes.c_int64),
    )


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
        """Is this a later hold? Tokens do not decide against real time; without one, the later grant does."""
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
    def create(cls, context: ForkServerContext, clients: int, resources: int, requests: int) -> SharedState:
        """Allocate the state in memory that child processes share."""
        unset = [(0, ANY, ANY, NOBODY, NOBODY)] * max(1, requests)
        numbers = [{"process": client, "renewer": clients + client} for client in range(clients)]
        return cls(
            run=context.RawValue(_Run),
            clients=context.RawArray(_Client, [_Client(**each) for each in numbers]),
            stop_requests=context.RawArray(_StopRequest, unset),
            written=context.RawArray(_Written, clients * resources),
            operations=context.RawArray(ctypes.c_int64, clients),
            writes=context.RawArray(ctypes.c_int64, clients * 2),
            came=context.RawArray(ctypes.c_int64, clients * len(STOP_POINTS)),
            chances=context.RawArray(ctypes.c_int64, clients * len(STOP_POINTS)),
            resources=resources,
        )

    @property
    def stride(self) -> int:
        """The step from one process number of a client to its next: no two clients ever share one."""
        return 2 * len(self.clients)

    def begin_again(self, client: int) -> None:
        """Prepare for the next OS process of a client: it holds nothing, and records under new numbers."""
        mine = self.clients[client]
        mine.ready = mine.awaited = mine.stopped = mine.released = mine.renewing = mine.lease_end = 0
        mine.phase = OUTSIDE
        mine.process += self.stride
        mine.renewer += self.stride

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


@dataclass(frozen=True, slots=True)
class SharedProgress:
    """Reports this client's progress, and stops where the nemesis requests it."""

    state: SharedState
    client: int
    resources: tuple[str, ...]
    ttl: float = math.inf  # ns; a holder waits no longer for a renewal

    def waiting(self, resource: str) -> None:
        """Announce that this client asks for a lock."""
        mine = self.state.clients[self.client]
        mine.lease_end = mine.renewing = mine.released = 0  # those were of an earlier hold
        mine.sections += 1
        mine.sent = time.monotonic_ns()
        mine.awaited = self.resources.index(resource) + 1

    def reached(self, point: str, resource: str, owner: str, token: int | None) -> None:
        """Announce a stop point, and stop there if the nemesis requested it."""
        mine = self.state.clients[self.client]
        place = self.resources.index(resource)
        phase = STOP_POINTS.index(point) + 1
        if mine.owner != (known := owner.encode()[:31]):
            mine.granted = time.monotonic_ns()
        mine.resource, mine.token, mine.owner = place, NO_TOKEN if token is None else token, known
        mine.phase = phase
        mine.awaited = 0
        self._count(self.state.came, point)
        self._stop_if_asked(phase, place)
        if phase == ACQUIRED:
            self._await_renewal(place)

    def granted(self, resource: str, owner: str) -> None:
        """Announce the stop point inside an acquire, where the token may not be known yet."""
        self.reached("granted", resource, owner, None)

    def renewing(self, resource: str, owner: str) -> None:
        """Announce that the lease of a held lock is about to be renewed, in a thread beside the holder's."""
        self._count(self.state.came, "renewing")
        mine = self.state.clients[self.client]
        if mine.phase != OUTSIDE and mine.owner == owner.encode()[:31]:
            mine.renewing = time.monotonic_ns()
            self._stop_if_asked(RENEWING, self.resources.index(resource))

    def numbered(self, process: int) -> None:
        """Report the number under which this client records from now on, or its renewals."""
        mine = self.state.clients[self.client]
        if process % self.state.stride == self.client:
            mine.process = process
        else:
            mine.renewer = process

    def renewed(self) -> None:
        """Report that a renewal is over, however it ended."""
        self.state.clients[self.client].renewing = 0

    def granted_from(self, sent: int) -> None:
        """Report when the request was sent that was granted (ns); a renewal meanwhile is no such request."""
        self.state.clients[self.client].sent = sent

    def promised(self, end: int) -> None:
        """Report the end of the lease (ns)."""
        self.state.clients[self.client].lease_end = end

    def releasing(self) -> None:
        """Announce that the request to release the lock is about to leave."""
        self.state.clients[self.client].released = time.monotonic_ns()

    def _stop_if_asked(self, point: int, place: int) -> None:
        for request in self.state.stop_requests:
            if request.point == point and self._is_asked_by(request, place):
                self.state.clients[self.client].stopped = 1
                request.stopped_client = self.client
                self._stop()
                return

    def _await_renewal(self, place: int) -> None:
        """Hold the lock for longer, if a stop is requested during a renewal: most holds end before one.

        A holder that was not stopped meanwhile, and sent none, had a chance to renew its lease.
        """
        until = time.monotonic_ns() + _AWAITED * self.ttl
        for request in self.state.stop_requests:
            while request.point == RENEWING and self._is_asked_by(request, place):
                if self.state.run.stop:
                    return
                if time.monotonic_ns() > until:
                    self._count(self.state.chances, "renewing")
                    return
                time.sleep(_POLL)

    def _is_asked_by(self, request: Any, resource: int) -> bool:
        if self.state.clients[self.client].taken:
            return False
        if request.stopped_client != NOBODY or request.client not in (ANY, self.client):
            return False
        if request.resource == ANY:
            return all(other.reserved_resource != resource for other in self.state.stop_requests)
        return bool(request.resource == resource)

    def _stop(self) -> None:
        mine = self.state.clients[self.client]
        os.kill(os.getpid(), signal.SIGSTOP)
        while mine.stopped and not self.state.run.stop:
            time.sleep(_POLL)

    def accepted(self, resource: str, token: int | None) -> None:
        """Report an accepted write: it may supersede others."""
        mine = self.state.clients[self.client]
        written = self.state.written[self.client * self.state.resources + self.resources.index(resource)]
        written.token = NO_TOKEN if token is None else token
        written.sent, written.granted = mine.sent, mine.granted

    def exited(self) -> None:
        """Report the end of the critical section."""
        self.state.clients[self.client].awaited = 0
        self.state.clients[self.client].phase = OUTSIDE

    def ended(self, f: str, answer: Answer) -> None:
        """Count an operation: for the progress display, and to learn which stop points are reported."""
        self.state.operations[self.client] += 1
        if answer.ok and f == "acquire":
            self._count(self.state.chances, "granted")
        if answer.ok and f in WRITES:
            self._count(self.state.chances, "write-sent")
        if f in WRITES and (answer.ok or answer.fields.get("error") == STALE):
            self.state.writes[2 * self.client + (not answer.ok)] += 1

    def _count(self, counts: Any, point: str) -> None:
        counts[self.client * len(STOP_POINTS) + STOP_POINTS.index(point)] += 1

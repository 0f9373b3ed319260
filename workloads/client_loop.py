"""The loop of every client that locks what it writes: acquire the lock, work, release it.

A holder never checks its lease, as most programs do not: the storage's fence must stop
it, not the client's caution. The think time between its steps comes from the seed.

A client that is asked to leave, as by SIGTERM, completes its operation, releases its lock, and ends.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from workloads.client import UNWRITTEN, Answer, Grant, Lock, NoTokenError, SectionProgress, Session, Storage

BACKOFF = 0.05  # seconds; after anything but an ok, to avoid a busy loop on a broken edge
_POLL = 0.01  # seconds; a client that thinks looks so often whether it is to leave


class _LeavingError(Exception):
    """The client was asked to leave: it does no more work in this critical section."""


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock that this client was granted."""

    resource: str
    owner: str
    token: int | None  # None if the lock gives none

    @property
    def named(self) -> dict[str, Any]:
        """What a write names its hold by: the token, or without one the owner."""
        return {"token": self.token} if self.token is not None else {"token": None, "owner": self.owner}


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client of the storage, with its pace and its stop points."""

    number: int
    think_time: tuple[float, float]  # seconds; minimum and maximum between two steps
    rng: random.Random
    session: Session
    storage: Storage
    fenced: bool  # does the storage compare tokens?
    progress: SectionProgress
    leaving: Callable[[], bool] = lambda: False  # was it asked to leave?

    def write(self, f: str, held: HeldLock, action: Callable[[], dict[str, Any]], **fields: Any) -> Answer:
        """Record an operation that writes with the token of the held lock."""
        self._leave_if_asked()
        answer = self.session.call(f, held.resource, action, **held.named, **fields)
        if answer.ok:
            self.progress.accepted(held.resource, held.token)
        return self._reconnect_if_unknown(answer)

    def write_value(self, held: HeldLock, value: str) -> Answer:
        """Record a write of a value."""

        def write() -> dict[str, Any]:
            self.storage.write(held.resource, held.token, value, lambda: self.reached("write-sent", held))
            return {}

        return self.write("write", held, write, value=value)

    def read(self, resource: str, decoded: Callable[[str | None], Any] = lambda value: value) -> Answer:
        """Record a read of the value and its token; `decoded` parses the value for the workload."""

        def read() -> dict[str, Any]:
            value, token = self.storage.read(resource)
            return {"value": decoded(value), "token": UNWRITTEN if value is None else token}

        self._leave_if_asked()
        return self._reconnect_if_unknown(self.session.call("read", resource, read))

    def fence(self, held: HeldLock, token: int) -> Answer:
        """Record that the storage's mark is raised to the token of the held lock."""

        def fence() -> dict[str, Any]:
            self.storage.fence(held.resource, token)
            return {}

        self._leave_if_asked()
        return self._reconnect_if_unknown(self.session.call("fence", held.resource, fence, token=token))

    def check_token(self, held: HeldLock) -> None:
        """Raise NoTokenError if the storage compares tokens, and the lock gave none."""
        if self.fenced and held.token is None:
            raise NoTokenError

    def reached(self, point: str, held: HeldLock) -> None:
        """Announce a stop point: the client may be stopped here."""
        self.progress.reached(point, held.resource, held.owner, held.token)

    def think(self) -> None:
        """Sleep for a think time drawn from the seed, or until the client is to leave."""
        until = time.monotonic() + self.rng.uniform(*self.think_time)
        while (left := until - time.monotonic()) > 0 and not self.leaving():
            time.sleep(min(left, _POLL))

    def _leave_if_asked(self) -> None:
        if self.leaving():
            raise _LeavingError

    def _reconnect_if_unknown(self, answer: Answer) -> Answer:
        """Reconnect after an info: the old connection may still deliver its request."""
        if answer.outcome == "info":
            self.storage.reconnect()
            time.sleep(BACKOFF)
        return answer


@dataclass(frozen=True, slots=True)
class RecordedLock:
    """A lock whose calls go through a session."""

    lock: Lock
    session: Session

    def acquire(self, resource: str, owner: str) -> Answer:
        """Wait for the lock and take it; an acquire without an answer is undone."""

        def acquire() -> dict[str, int | None]:
            grant = self.lock.acquire(resource, owner)
            if not isinstance(grant, Grant):
                raise TypeError(f"acquire returned {grant!r:.60}: it returns a Grant, or raises NotApplied")
            return {"token": grant.token, "ttl": grant.ttl, "attempt": grant.attempt}

        asked = getattr(self.lock, "asks_for", None)
        lease = {} if asked is None else {"ttl": asked}
        answer = self.session.call("acquire", resource, acquire, owner=owner, **lease)
        if answer.outcome == "info":
            self.lock.reconnect()
            self._end("revoke", resource, owner, self.lock.revoke)
        return answer

    def release(self, resource: str, owner: str) -> Answer:
        """Release the lock."""
        return self._end("release", resource, owner, self.lock.release)

    def _end(self, f: str, resource: str, owner: str, ending: Callable[[str, str], None]) -> Answer:
        def end() -> dict[str, Any]:
            ending(resource, owner)
            return {}

        answer = self.session.call(f, resource, end, owner=owner)
        if answer.outcome == "info":
            self.lock.reconnect()
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A client that locks what it writes; the workload decides what it does while it holds the lock."""

    client: Client
    lock: RecordedLock
    resources: Sequence[str]
    fence_on_acquire: bool  # raise the storage's mark to the new token before the first read
    sections: int = 0  # that earlier processes of this client began

    def run(self, work: Callable[[Client, HeldLock], None], stopping: Callable[[], bool]) -> None:
        """Repeat acquire, work and release until `stopping` says so, or the client is to leave."""
        nth = self.sections
        while not (stopping() or self.client.leaving()):
            nth += 1
            resource = self.client.rng.choice(self.resources)
            self._critical_section(resource, f"{self.client.number}-{nth}", work)

    def _critical_section(self, resource: str, owner: str, work: Callable[[Client, HeldLock], None]) -> None:
        client, lock = self.client, self.lock.lock
        client.progress.waiting(resource)
        grant = self.lock.acquire(resource, owner)
        if not grant.ok:
            client.progress.exited()  # it may have reached "granted"
            time.sleep(BACKOFF)
            return
        held = HeldLock(resource, owner, grant.fields["token"])
        client.check_token(held)
        client.reached("acquired", held)
        with suppress(_LeavingError):
            if not self.fence_on_acquire or held.token is None or client.fence(held, held.token).ok:
                work(client, held)
        client.reached("before-release", held)
        if not (client.leaving() and getattr(lock, "leave_in_order", lambda: False)()):
            self.lock.release(resource, owner)
        client.progress.exited()
        client.think()

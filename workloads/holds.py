"""What a client of any workload does: take the lock, work, give it back; hold after hold.

A holder goes on as if its lease were good, as most programs do: it is the storage's
fence that must stop it, not the client's caution. How long it thinks between its steps
comes from the seed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workloads.client import UNWRITTEN, Answer, Lock, Progress, Session, Storage

BACKOFF = 0.05  # seconds; after anything but an ok, so that a broken edge is not spun on


@dataclass(frozen=True, slots=True)
class Hold:
    """A lock that was granted."""

    resource: str
    owner: str
    token: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client, whatever it does while it holds the lock."""

    number: int
    resources: Sequence[str]
    think: tuple[float, float]  # seconds; the least and the most between two steps
    rng: random.Random
    session: Session
    lock: Lock
    storage: Storage
    fence_on_acquire: bool  # raise the storage's mark to the new token before anything is read
    progress: Progress

    def run(self, work: Callable[[Client, Hold], None], stopping: Callable[[], bool]) -> None:
        """Work in hold after hold, until told to stop."""
        nth = 0
        while not stopping():
            nth += 1
            self._hold(self.rng.choice(self.resources), f"{self.number}-{nth}", work)

    def _hold(self, resource: str, owner: str, work: Callable[[Client, Hold], None]) -> None:
        grant = self._acquire(resource, owner)
        if not grant.ok:
            self.progress.left()  # it may have come as far as "granted"
            time.sleep(BACKOFF)
            return
        hold = Hold(resource, owner, grant.fields["token"])
        self.reached("acquired", hold)
        if not self.fence_on_acquire or self._fence(hold).ok:
            work(self, hold)
        self.reached("before-release", hold)
        self._end("release", resource, owner, self.lock.release)
        self.progress.left()
        self.pause_for_thought()

    def write(self, f: str, hold: Hold, action: Callable[[], dict[str, Any]], **fields: Any) -> Answer:
        """Record something that writes under the hold's token."""
        answer = self.session.call(f, hold.resource, action, token=hold.token, **fields)
        if answer.ok:
            self.progress.accepted(hold.resource, hold.token)
        return self._settled(answer)

    def read(self, resource: str, decoded: Callable[[str | None], Any] = lambda value: value) -> None:
        """Record a read of the value, in the form that the workload gives it, and its token."""

        def read() -> dict[str, Any]:
            value, token = self.storage.read(resource)
            return {"value": decoded(value), "token": UNWRITTEN if value is None else token}

        self._settled(self.session.call("read", resource, read))

    def reached(self, point: str, hold: Hold) -> None:
        """Tell where this client stands: here it may be stopped."""
        self.progress.reached(point, hold.resource, hold.owner, hold.token)

    def pause_for_thought(self) -> None:
        """Think for as long as the seed says."""
        time.sleep(self.rng.uniform(*self.think))

    def _acquire(self, resource: str, owner: str) -> Answer:
        def acquire() -> dict[str, int | None]:
            grant = self.lock.acquire(resource, owner)
            return {"token": grant.token, "ttl": grant.ttl, "attempt": grant.attempt}

        answer = self.session.call("acquire", resource, acquire, owner=owner)
        if answer.outcome == "info":
            self.lock.reconnect()
            self._end("revoke", resource, owner, self.lock.revoke)
        return answer

    def _fence(self, hold: Hold) -> Answer:
        def fence() -> dict[str, Any]:
            self.storage.fence(hold.resource, hold.token)
            return {}

        return self._settled(self.session.call("fence", hold.resource, fence, token=hold.token))

    def _end(self, f: str, resource: str, owner: str, ending: Callable[[str, str], None]) -> None:
        def end() -> dict[str, Any]:
            ending(resource, owner)
            return {}

        if self.session.call(f, resource, end, owner=owner).outcome == "info":
            self.lock.reconnect()

    def _settled(self, answer: Answer) -> Answer:
        """Open a new connection after an info: the old one may still deliver its request."""
        if answer.outcome == "info":
            self.storage.reconnect()
            time.sleep(BACKOFF)
        return answer

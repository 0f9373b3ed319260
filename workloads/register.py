"""Register: each client writes run-unique values to a register while it holds its lock.

acquire, one to three writes, a read, release; then again with another
resource. Under the strict policy a hold writes once: the storage lets one
write through for each token. A holder goes on as if its lease were good, as
most programs do: it is the storage's fence that must stop it, not the client's
caution. How long it thinks between its steps comes from the seed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workloads.client import Answer, Lock, Progress, Session, Storage

BACKOFF = 0.05  # seconds; after anything but an ok, so that a broken edge is not spun on


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """One client's share of the workload."""

    client: int
    resources: Sequence[str]
    writes: tuple[int, int]  # the least and the most writes of a hold
    think: tuple[float, float]  # seconds; the least and the most between two steps
    rng: random.Random
    session: Session
    lock: Lock
    storage: Storage
    progress: Progress

    def run(self, stopping: Callable[[], bool]) -> None:
        """Hold after hold, until told to stop."""
        hold = 0
        while not stopping():
            hold += 1
            self._hold(self.rng.choice(self.resources), f"{self.client}-{hold}")

    def _hold(self, resource: str, owner: str) -> None:
        grant = self._acquire(resource, owner)
        if not grant.ok:
            time.sleep(BACKOFF)
            return
        token = grant.fields["token"]
        self.progress.reached("acquired", resource, owner, token)
        for nth in range(self.rng.randint(*self.writes)):
            self._think()
            self.progress.reached("before-write", resource, owner, token)
            if not self._write(resource, owner, token, nth).ok:
                break
        self._think()
        self._read(resource)
        self.progress.reached("before-release", resource, owner, token)
        self._release(resource, owner)
        self.progress.left()
        self._think()

    def _acquire(self, resource: str, owner: str) -> Answer:
        def acquire() -> dict[str, int | None]:
            grant = self.lock.acquire(resource, owner)
            return {"token": grant.token, "ttl": grant.ttl, "attempt": grant.attempt}

        answer = self.session.call("acquire", resource, acquire, owner=owner)
        if answer.outcome == "info":
            self.lock.reconnect()
            self._end("revoke", resource, owner, self.lock.revoke)
        return answer

    def _write(self, resource: str, owner: str, token: int, nth: int) -> Answer:
        value = f"{owner}.{nth}"

        def sent() -> None:
            self.progress.reached("write-sent", resource, owner, token)

        def write() -> dict[str, int]:
            self.storage.write(resource, token, value, sent)
            return {}

        answer = self.session.call("write", resource, write, token=token, value=value)
        if answer.ok:
            self.progress.accepted(resource, token)
        self._settle(answer)
        return answer

    def _read(self, resource: str) -> None:
        def read() -> dict[str, str | int | None]:
            value, token = self.storage.read(resource)
            return {"value": value, "token": token}

        self._settle(self.session.call("read", resource, read))

    def _release(self, resource: str, owner: str) -> None:
        self._end("release", resource, owner, self.lock.release)

    def _end(self, f: str, resource: str, owner: str, ending: Callable[[str, str], None]) -> None:
        def end() -> dict[str, int]:
            ending(resource, owner)
            return {}

        if self.session.call(f, resource, end, owner=owner).outcome == "info":
            self.lock.reconnect()

    def _settle(self, answer: Answer) -> None:
        """Open a new connection after an info: the old one may still deliver its request."""
        if answer.outcome == "info":
            self.storage.reconnect()
            time.sleep(BACKOFF)

    def _think(self) -> None:
        time.sleep(self.rng.uniform(*self.think))

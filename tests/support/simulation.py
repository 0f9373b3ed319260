"""Simulated runs: clients, a lock service with leases and a storage, with a simulated clock.

Requests and answers take time, some longer than their client waits; after the
client's timeout they may still arrive. Clients are paused now and then, also past
their lease, and continue as if nothing had happened. By default the services are
correct, so such a run has no violation.
"""

from __future__ import annotations

import heapq
import itertools
import json
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

from checkers.history.records import Commit
from tests.support.simulated_services import TIMEOUT, TTL, LockService, PooledLock, Storage

Wait = Generator[int, None, Any]


@dataclass(kw_only=True)
class Simulation:
    """One run; `lines()` is its history, `storage.log` the storage's own order."""

    seed: int
    policy: str = "strict"
    fenced: bool = True
    sessions: bool = False  # the lease is kept by renews alone, as in etcd
    early: int = 0
    race: int = 0
    forgetful: bool = False  # the lock service starts counting again now and then
    stuck: bool = False
    pooled: str = ""  # an advisory lock whose "statements", or "releases", run in any session of a pool
    patience: int | None = None  # ns after which a client gives up waiting; None: at the end
    appends: bool = False  # the workload: appends to a list, no writes of values
    fence_on_acquire: bool = False
    lag: float = 0  # how often a read returns an outdated list: a bug
    outages: bool = False  # the lock service is stopped now and then
    slow: float = 0.05  # how often a request takes its time
    slowest: int = 3 * TIMEOUT  # how long it then takes at the most
    again: str | None = (
        None  # owners acquire again, and this comes of it (see LockService); None: owners are fresh
    )
    ttls: tuple[int, ...] = (TTL,)  # what leases are asked for
    clients: int = 4
    failovers: int = 0  # of the storage, to a replica that has not got the last write
    end: int = 60_000

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.lock = self._lock_service()
        self.storage = Storage(
            policy=self.policy if self.fenced else None, value=[] if self.appends else None
        )
        self.out = 0  # until when the lock service is stopped
        self.lost: list[tuple[Any, int]] = []  # what the storage had and forgot
        self.now = 0
        self.events: list[dict[str, Any]] = []
        self.stopped: dict[int, int] = {}  # client → until when
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        for client in range(self.clients):
            self._resume(client, self._client(client))
        for _ in range(self.failovers):
            self._at(self.rng.randint(1, self.end), self._failover)
        if self.outages:
            self._at(self.rng.randint(1, self.end), self._outage)
        while self._queue:
            self.now, _, step = heapq.heappop(self._queue)
            step()

    def _lock_service(self) -> LockService | PooledLock:
        counter = itertools.count(1)
        wraps = self.rng.randint(3, 6)
        if self.pooled:
            return PooledLock(tokens=lambda: next(counter), session_of=self._session_of)
        return LockService(
            tokens=lambda: next(counter) % wraps + 1 if self.forgetful else next(counter),
            early=self.early,
            race=self.race,
            stuck=self.stuck,
            again=self.again or "refused",
            sessions=self.sessions,
        )

    def _session_of(self, f: str, owner: str) -> str:
        if self.pooled == "statements":
            return self.rng.choice("ab")
        return owner.partition("-")[0] if f == "acquire" else "another"

    def lines(self) -> list[str]:
        header = {
            "fencepost": 1,
            "target": "simulated",
            "fenced": self.fenced,
            "policy": self.policy,
            "clients": self.clients,
            "require": {"stale_writes_attempted": 0},
        }
        if self.appends:
            header |= {"initial": {"value": [], "token": 0}, "fence_on_acquire": self.fence_on_acquire}
        header |= {"grace": self.slowest + TIMEOUT}  # longer than any request is on its way
        return [json.dumps(each) + "\n" for each in (header, *self.events)]

    def commits(self) -> list[Commit]:
        """The storage's own order."""
        return [
            Commit(seq=seq, resource="r0", token=token, value=tuple(value) if self.appends else value)
            for seq, (value, token) in enumerate(self.storage.log, start=1)
        ]

    def _failover(self) -> None:
        self.lost.extend(self.storage.log[-1:])
        self.storage.forget(1)
        for state in ("in force", "healed"):
            value = {"target": "storage", "state": state}
            self.events.append(
                {"time": self.now, "process": "nemesis", "type": "info", "f": "failover", "value": value}
            )

    def _at(self, time: int, step: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (time, next(self._order), step))

    def _resume(self, client: int, thread: Wait) -> None:
        """Run a thread of a client until it waits, and again after that; later if it is stopped."""
        until = self.stopped.get(client, 0)
        if until > self.now:
            self._at(until, lambda: self._resume(client, thread))
            return
        for delay in thread:
            self._at(self.now + delay, lambda: self._resume(client, thread))
            return

    def _call(self, effect: Callable[[int], Any], until: Callable[[], int] = lambda: 0) -> Wait:
        """Send a request; the answer, or None if it did not come in time.

        A server that is stopped until some moment processes it then.
        """
        slow = self.rng.random() < self.slow
        going = self.rng.randint(1, self.slowest if slow else 100)
        coming = self.rng.randint(1, 100)
        box: list[Any] = []

        def arrive() -> None:
            if until() > self.now:
                self._at(until(), arrive)
            else:
                box.append((effect(self.now),))

        sent = self.now
        self._at(sent + going, arrive)
        yield min(going + coming, TIMEOUT)
        while not box and self.now < sent + TIMEOUT:
            yield min(50, sent + TIMEOUT - self.now)
        return box[0] if box and going + coming < TIMEOUT else None

    def _ask_lock(self, effect: Callable[[int], Any]) -> Wait:
        """Send a request to the lock service; if it is stopped, the request waits until it continues."""
        return self._call(effect, until=lambda: self.out)

    def _record(self, process: int, kind: str, f: str, **fields: Any) -> None:
        self.events.append(
            {"time": self.now, "process": process, "type": kind, "f": f, "resource": "r0", **fields}
        )

    def _client(self, client: int) -> Wait:
        process = client
        for nth in itertools.count(1):
            yield self.rng.randint(1, 500)
            if self.now > self.end:
                return
            owner = f"{client}-{nth}" if self.again is None else f"{client}"
            token, process = yield from self._acquire(process, owner)
            if token is None:
                continue
            over: list[bool] = []
            self._resume(client, self._renewals(client, nth, owner, over))
            if self.again not in {None, "refused"} and self.rng.random() < 0.3:
                token, process = yield from self._acquire(process, owner)
                if token is None:
                    over.append(True)
                    continue
            process = yield from self._work(client, process, token, f"{client}-{nth}")
            process = yield from self._read(process)
            over.append(True)
            process = yield from self._end(process, "release", owner)

    def _work(self, client: int, process: int, token: int, name: str) -> Wait:
        """What a holder does."""
        if self.fence_on_acquire:
            process, fenced = yield from self._fence(process, token)
            if not fenced:
                return process
        writes = self.rng.randint(1, 3) if self.policy == "inclusive" else 1
        for n in range(writes):
            yield self.rng.randint(1, 300)
            if self.rng.random() < 0.25:
                self._stop(client)
                yield 1
            if not self.appends:
                process = yield from self._write(process, token, f"{name}.{n}")
                continue
            before = process
            process = yield from self._append(client, process, token, f"{name}.{n}")
            if process != before and self.fence_on_acquire:
                break  # its own append may come late, and the fence would let it through
        return process

    def _stop(self, client: int) -> None:
        lasts = self.rng.randint(100, 4 * TTL)
        self.stopped[client] = self.now + lasts
        self._fault(f"client:{client}", lasts)

    def _outage(self) -> None:
        lasts = self.rng.randint(100, 10 * TTL)
        self.out = self.now + lasts
        self._fault("lock", lasts)

    def _fault(self, target: str, lasts: int) -> None:
        for state, time in (("in force", self.now), ("healed", self.now + lasts)):
            event = {
                "time": time,
                "process": "nemesis",
                "type": "info",
                "f": "pause",
                "value": {"target": target, "state": state},
            }
            self._at(time, partial(self.events.append, event))

    def _acquire(self, process: int, owner: str) -> Wait:
        asked: dict[str, Any] = {"owner": owner}
        ttl = self.rng.choice(self.ttls)
        promised = None if self.sessions else ttl
        self._record(process, "invoke", "acquire", **asked, ttl=promised)
        until = self.end if self.patience is None else min(self.end, self.now + self.patience)
        while True:
            attempt = self.now
            answer = yield from self._ask_lock(lambda now: self.lock.acquire(now, owner, ttl))
            if answer is None:
                self._record(process, "info", "acquire", error="timed out", **asked)
                process = yield from self._end(process + self.clients, "revoke", owner)
                return None, process
            if answer[0] is not None:
                given = {"token": answer[0], "ttl": promised, "attempt": attempt}
                self._record(process, "ok", "acquire", **asked, **given)
                return answer[0], process
            if self.now > until:
                self._record(process, "fail", "acquire", error="gave up", **asked)
                return None, process
            yield self.rng.randint(50, 300)

    def _renewal(self, owner: str, ttl: int) -> Callable[[int], Any]:
        return lambda now: self.lock.renew(now, owner, ttl)

    def _renewals(self, client: int, nth: int, owner: str, over: list[bool]) -> Wait:
        """The thread that keeps the lease, with a separate process number."""
        process = 10_000_000 + client + self.clients * (nth * 1000)
        while not over:
            ttl = self.rng.choice(self.ttls)
            self._record(process, "invoke", "renew", owner=owner, ttl=ttl)
            answer = yield from self._ask_lock(self._renewal(owner, ttl))
            if answer is None:
                self._record(process, "info", "renew", owner=owner, error="timed out")
                process += self.clients
            elif answer[0]:
                self._record(process, "ok", "renew", owner=owner, ttl=ttl)
            else:
                self._record(process, "fail", "renew", owner=owner, error="lost")
                return
            yield self.rng.randint(300, 1200)

    def _write(self, process: int, token: int, value: str) -> Wait:
        asked: dict[str, Any] = {"token": token, "value": value}
        self._record(process, "invoke", "write", **asked)
        answer = yield from self._call(lambda now: self.storage.write(now, value, token))
        if answer is None:
            self._record(process, "info", "write", error="timed out", **asked)
            return process + self.clients
        kind, error = ("ok", None) if answer[0] else ("fail", "stale")
        self._record(process, kind, "write", error=error, **asked)
        return process

    def _fence(self, process: int, token: int) -> Wait:
        self._record(process, "invoke", "fence", token=token)
        answer = yield from self._call(lambda now: self.storage.fence(now, token))
        if answer is None:
            self._record(process, "info", "fence", token=token, error="timed out")
            return process + self.clients, False
        kind, error = ("ok", None) if answer[0] else ("fail", "stale")
        self._record(process, kind, "fence", token=token, error=error)
        return process, answer[0]

    def _append(self, client: int, process: int, token: int, element: str) -> Wait:
        asked: dict[str, Any] = {"token": token, "element": element}
        self._record(process, "invoke", "append", **asked)
        answer = yield from self._call(self.storage.read)
        if answer is None:
            self._record(process, "info", "append", error="timed out", **asked)
            return process + self.clients
        found = answer[0][0]
        if self.lag and self.rng.random() < self.lag and len(self.storage.log) > 1:
            found = self.storage.log[-2][0]
        if self.rng.random() < 0.1:
            self._stop(client)
            yield 1
        lists = {"read": found, "written": [*found, element]}
        answer = yield from self._call(lambda now: self.storage.write(now, lists["written"], token))
        if answer is None:
            known = self.rng.choice([{}, {"read": found}, lists])
            self._record(process, "info", "append", error="timed out", **asked, **known)
            return process + self.clients
        kind, error = ("ok", None) if answer[0] else ("fail", "stale")
        self._record(process, kind, "append", error=error, **asked, **lists)
        return process

    def _read(self, process: int) -> Wait:
        self._record(process, "invoke", "read")
        answer = yield from self._call(self.storage.read)
        if answer is None:
            self._record(process, "info", "read", error="timed out")
            return process + self.clients
        value, token = answer[0]
        self._record(process, "ok", "read", value=value, token=token)
        return process

    def _end(self, process: int, f: str, owner: str) -> Wait:
        self._record(process, "invoke", f, owner=owner)
        answer = yield from self._ask_lock(lambda now: self.lock.release(now, owner))
        if answer is None:
            self._record(process, "info", f, owner=owner, error="timed out")
            return process + self.clients
        if answer[0] or f == "revoke":
            self._record(process, "ok", f, owner=owner)
        else:
            self._record(process, "fail", f, owner=owner, error="not the holder")
        return process

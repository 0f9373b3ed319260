"""A small simulation of clients, a lock with leases, and a storage, which records a run.

It needs no server. The events have the shape, the rates and the faults of a real run.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MS = 1_000_000
SECOND = 1_000 * MS
BEGAN = 81_234 * SECOND + 567_890_123  # a monotonic clock's reading


@dataclass(kw_only=True)
class Simulation:
    """A run, simulated. Every duration in ns."""

    fenced: bool
    seed: int = 7
    clients: int = 5
    resources: int = 2
    duration: int = 20 * SECOND
    ttl: int = 2 * SECOND
    think: int = 6 * MS
    pauses: bool = True

    now: int = 0
    events: list[tuple[int, int, dict[str, Any]]] = field(default_factory=list)
    commits: list[dict[str, Any]] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)
    findings: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.queue: list[tuple[int, int, Iterator[int]]] = []
        self.holder: dict[str, tuple[str, int] | None] = {}
        self.waiting: defaultdict[str, deque[str]] = defaultdict(deque)
        self.mark: dict[str, tuple[int, dict[str, Any] | None]] = defaultdict(lambda: (0, None))
        self.revision = 30
        self.next_pause = {f"r{r}": int(0.2 * SECOND) for r in range(self.resources)}
        self.ticket = 0
        self.process = {client: client for client in range(self.clients)}

    def run(self) -> Simulation:
        """Simulate until the duration is over."""
        for client in range(self.clients):
            self._schedule(self.rng.randrange(5 * MS), self._client(client))
        while self.queue:
            self.now, _, steps = heapq.heappop(self.queue)
            for delay in steps:
                self._schedule(self.now + delay, steps)
                break
        self.events.sort(key=lambda event: (event[0], event[1]))
        return self

    def _schedule(self, at: int, steps: Iterator[int]) -> None:
        self.ticket += 1
        heapq.heappush(self.queue, (at, self.ticket, steps))

    def _record(self, **event: Any) -> dict[str, Any]:
        event = {"time": BEGAN + self.now, **event}
        self.events.append((event["time"], len(self.events), event))
        return event

    def _client(self, client: int) -> Iterator[int]:
        number = 0
        while self.now < self.duration - 100 * MS:
            yield self.rng.randrange(self.think // 2, self.think * 2)
            number += 1
            resource = f"r{self.rng.randrange(self.resources)}"
            yield from self._hold(client, resource, f"{client}-{number}")

    def _hold(self, client: int, resource: str, owner: str) -> Iterator[int]:
        common = {"process": self.process[client], "resource": resource, "owner": owner}
        renewer = common | {"process": self.process[client] + self.clients}
        self._record(type="invoke", f="acquire", **common)
        queue = self.waiting[resource]
        queue.append(owner)
        while True:
            holder = self.holder.get(resource)
            lapsed = holder is None or holder[1] < self.now
            if lapsed and queue[0] == owner:
                break
            yield 4 * MS if holder and holder[1] > self.now + SECOND else MS
            if self.now > self.duration + SECOND:
                queue.remove(owner)
                self._record(type="fail", f="acquire", error="gave up waiting", **common)
                return
        queue.popleft()
        attempt = BEGAN + self.now
        self.revision += self.rng.randrange(1, 3)
        token = self.revision
        self.holder[resource] = (owner, self.now + self.ttl + self.rng.randrange(300 * MS))
        yield self._call()
        self._record(type="invoke", f="renew", **renewer)
        yield MS // 2
        self._record(type="ok", f="renew", ttl=self.ttl, **renewer)
        self._record(type="ok", f="acquire", token=token, ttl=self.ttl, attempt=attempt, **common)
        self.counted["grants"] += 1
        writes = 1 if self.fenced else self.rng.randrange(1, 3)
        for write in range(writes):
            if self._pause_is_due(resource):
                yield from self._pause(client, resource, owner)
            yield self.rng.randrange(MS)
            yield from self._write(client, resource, token, f"{owner}.{write}")
        yield from self._read(client, resource)
        common["process"] = self.process[client]
        self._record(type="invoke", f="release", **common)
        yield self._call()
        holder = self.holder.get(resource)
        if holder and holder[0] == owner:
            self.holder[resource] = None
            self._record(type="ok", f="release", **common)
        else:
            self._record(type="fail", f="release", error="not the holder", **common)

    def _call(self) -> int:
        slow = 20 if self.rng.random() < 0.01 else 1
        return int(self.rng.lognormvariate(0.4, 0.35) * MS) * slow

    def _pause_is_due(self, resource: str) -> bool:
        late = self.now > self.duration - 2 * self.ttl
        return self.pauses and not late and self.now >= self.next_pause[resource]

    def _pause(self, client: int, resource: str, owner: str) -> Iterator[int]:
        self.next_pause[resource] = self.duration
        value = {"target": f"client:{client}", "resource": resource, "owner": owner}
        nemesis = {"process": "nemesis", "type": "info", "f": "pause"}
        requested = BEGAN + self.now
        yield 300_000
        stopped = value | {"state": "in force", "evidence": "process state is T"}
        begun = self._record(value=stopped, **nemesis)
        before = self.mark[resource][0]
        while self.mark[resource][0] == before and self.now < self.duration + SECOND:
            yield MS
        yield 3 * MS
        running = value | {"state": "healed", "evidence": "process state is S"}
        healed = self._record(value=running, **nemesis)
        self.counted["pauses"] += 1
        self.counted["pauses_past_lease"] += 1
        self.next_pause[resource] = self.now + int(0.4 * SECOND)
        self.faults.append(
            {
                "kind": "pause",
                **value,
                "at": "before-write",
                "requested": requested,
                "in_force": begun["time"],
                "healed": healed["time"],
                "evidence": stopped["evidence"],
                "healed_evidence": running["evidence"],
            }
        )

    def _write(self, client: int, resource: str, token: int, value: str) -> Iterator[int]:
        common = {
            "process": self.process[client],
            "f": "write",
            "resource": resource,
            "token": token,
            "value": value,
        }
        call = self._record(type="invoke", **common)
        mark, newest = self.mark[resource]
        stale = token < mark
        self.counted["stale_writes_attempted"] += stale
        yield self._call()
        if stale and self.fenced:
            self.counted["stale_writes_rejected"] += 1
            self._record(type="fail", error="stale", **common)
            return
        self.commits.append({"resource": resource, "token": token, "value": value})
        if stale and newest is not None:
            self.counted["stale_writes_accepted"] += 1
            self.findings.append((newest, call))
        elif not stale:
            self.mark[resource] = (token, call)
        if self.rng.random() < 0.002:
            yield 40 * MS
            self._record(type="info", error="no answer within 40 ms", **common)
            self.process[client] += 2 * self.clients
        else:
            yield MS // 3
            self._record(type="ok", **common)

    def _read(self, client: int, resource: str) -> Iterator[int]:
        common = {"process": self.process[client], "f": "read", "resource": resource}
        self._record(type="invoke", **common)
        yield self._call()
        last = next((c for c in reversed(self.commits) if c["resource"] == resource), None)
        seen = {"value": last["value"], "token": last["token"]} if last else {"value": None, "token": 0}
        self._record(type="ok", **common, **seen)

"""Generated runs of any size: clients that acquire, write, read, renew and release.

Each resource has its own clients, and one hold after another. Some holders are paused
until their lease is over and another client has written: then their write is refused.
Every run is correct.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import msgspec

from benchmarks.generated import log_line

_TTL = 2_000_000_000  # ns
_PAUSED = 0.02  # of all holds
_REFUSED = 0.3  # refused acquires of other clients, per hold
_WRITES, _RENEWS = 6, 2
_OPERATIONS = 2 + 2 * _WRITES + _RENEWS  # of a hold, about

_Event = tuple[int, bytes]
_Stored = tuple[int, str, int, str]
"""The time, resource, token and value of a stored write."""


def run_lines(
    operations: int, resources: int = 20, clients: int = 5, seed: int = 1
) -> tuple[Iterator[bytes], Iterator[bytes]]:
    """Generate a run with about that many operations: lines of its history.jsonl and commits.jsonl."""
    rng = random.Random(seed)
    holds = operations // (resources * _OPERATIONS)
    head = {"fencepost": 1, "target": "generated", "fenced": True, "policy": "inclusive", "ttl": _TTL}
    first = msgspec.json.encode(head | {"require": {"stale_writes_attempted": 1}}) + b"\n"
    events: list[_Event] = []
    commits: list[_Stored] = []
    for number in range(resources):
        one = _Resource(rng, f"r{number}", number * clients, clients, events, commits)
        for _ in range(holds):
            one.hold()
    events.sort(key=itemgetter(0))
    commits.sort(key=itemgetter(0))
    log = (
        log_line(seq, resource, token, value)
        for seq, (_, resource, token, value) in enumerate(commits, start=1)
    )
    return chain([first], map(itemgetter(1), events)), log


@dataclass(slots=True)
class _Resource:
    """One resource and its clients."""

    rng: random.Random
    name: str
    first: int  # process
    clients: int
    events: list[_Event]
    commits: list[_Stored]
    now: int = 1_000  # ns
    token: int = 0
    value: str | None = None
    value_token: int = 0
    written: int = 0

    def hold(self) -> None:
        """One client holds the lock until it releases it or is paused for too long."""
        process = self.first + self.rng.randrange(self.clients)
        self.token += 1
        owner, token = f"{self.name}-{self.token}", self.token
        self._do(process, "acquire", {"owner": owner}, {"token": token, "ttl": _TTL})
        for _ in range(_RENEWS):
            self._work(process, token)
            self._do(process, "renew", {"owner": owner, "ttl": _TTL}, {})
        if self.rng.random() < _PAUSED:
            self._superseded(process, token)
            self._do(process, "release", {"owner": owner}, {"error": "lost"}, "fail")
        else:
            self._do(process, "release", {"owner": owner}, {})

    def _superseded(self, process: int, old: int) -> None:
        """The paused holder's lease ends and another client writes; then the holder tries to write."""
        self._fault(process, "in force")
        self.now += 2 * _TTL
        other = self.first + (process - self.first + 1) % self.clients
        self.token += 1
        owner = f"{self.name}-{self.token}"
        self._do(other, "acquire", {"owner": owner}, {"token": self.token, "ttl": _TTL})
        self._write(other, self.token)
        self._fault(process, "healed")
        late = {"token": old, "value": self._fresh()}
        self._do(process, "write", late, {"error": "stale"}, "fail")
        self._do(other, "release", {"owner": owner}, {})

    def _work(self, process: int, token: int) -> None:
        for _ in range(_WRITES // _RENEWS):
            self._write(process, token)
            self._do(process, "read", {}, {"token": self.value_token, "value": self.value})
            if self.rng.random() < _REFUSED:
                other = self.first + (process - self.first + 1) % self.clients
                asked = {"owner": f"{self.name}-{self.now}-refused"}
                self._do(other, "acquire", asked, {"error": "held"}, "fail")

    def _write(self, process: int, token: int) -> None:
        value = self._fresh()
        self._do(process, "write", {"token": token, "value": value}, {})
        self.commits.append((self.now - 1, self.name, token, value))  # before the answer
        self.value, self.value_token = value, token

    def _fresh(self) -> str:
        self.written += 1
        return f"{self.name}-v{self.written}"

    def _do(
        self, process: int, f: str, asked: dict[str, Any], answered: dict[str, Any], outcome: str = "ok"
    ) -> None:
        """Add one operation after the previous ones."""
        event = {"process": process, "f": f, "resource": self.name, **asked}
        self._add("invoke", event)
        self._add(outcome, event | answered)

    def _fault(self, process: int, state: str) -> None:
        seen = {"target": f"client:{process}", "state": state, "evidence": "status is stopped"}
        self._add("info", {"process": "nemesis", "f": "pause", "value": seen})

    def _add(self, kind: str, event: dict[str, Any]) -> None:
        self.now += self.rng.randrange(50_000, 2_000_000)
        line = msgspec.json.encode({"time": self.now, "type": kind, **event}) + b"\n"
        self.events.append((self.now, line))

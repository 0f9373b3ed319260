"""Scripted runs: what happens, one event after the other, as a recorder writes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.generated import log_line

STEP = 1_000_000  # ns; between an event and the next


@dataclass(frozen=True, slots=True)
class Call:
    """An operation that is open."""

    process: int
    f: str
    asked: dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Script:
    """A run that is written down; an operation on no other resource is on `r`."""

    header: dict[str, Any]
    operations: int = 0
    now: int = 0  # ns
    numbers: int = 0
    events: list[bytes] = field(default_factory=list)
    commits: list[bytes] = field(default_factory=list)

    def number(self) -> int:
        """A number that was not used before: for tokens, values, owners and processes."""
        self.numbers += 1
        return self.numbers

    def call(self, process: int, f: str, *, resource: str = "r", **asked: Any) -> Call:
        """Begin an operation."""
        self.operations += 1
        call = Call(process, f, {"resource": resource, **asked})
        self._client(call, "invoke", {})
        return call

    def answer(self, call: Call, outcome: str = "ok", **answered: Any) -> None:
        """End an operation."""
        self._client(call, outcome, answered)

    def do(self, process: int, f: str, answered: dict[str, Any] | None = None, **asked: Any) -> None:
        """An operation that is answered ok, before anything else happens."""
        self.answer(self.call(process, f, **asked), **(answered or {}))

    def write(self, process: int, token: int | None, *, resource: str = "r", **asked: Any) -> str:
        """A write that is acknowledged; its value."""
        value = f"v{self.number()}"
        self.do(process, "write", resource=resource, token=token, value=value, **asked)
        return value

    def logged_write(self, process: int, token: int | None, *, resource: str = "r") -> str:
        """A write that is acknowledged, and that the storage's own order has."""
        value = self.write(process, token, resource=resource)
        self.commit(token, value, resource=resource)
        return value

    def lost_write(self, token: int, *, resource: str = "r") -> str:
        """A write whose outcome nobody learns; its value."""
        value = f"v{self.number()}"
        process = 1_000 + self.number()
        self.answer(self.call(process, "write", resource=resource, token=token, value=value), "info")
        return value

    def refused_write(self, process: int, token: int, *, resource: str = "r") -> None:
        """A write that a fence refuses."""
        call = self.call(process, "write", resource=resource, token=token, value=f"v{self.number()}")
        self.answer(call, "fail", error="stale")

    def read(self, process: int, token: int | None, value: object, *, resource: str = "r") -> None:
        """A read, and what it returned."""
        self.do(process, "read", {"token": token, "value": value}, resource=resource)

    def grant(self, process: int, token: int | None, *, ttl: int | None = None, **asked: Any) -> str:
        """An acquire that is granted; its owner."""
        owner = asked.pop("owner", None) or f"o{self.number()}"
        answered = {"token": token} if ttl is None else {"token": token, "ttl": ttl}
        self.do(process, "acquire", answered, owner=owner, **asked)
        return str(owner)

    def commit(self, token: int | None, value: object, *, resource: str = "r") -> None:
        """A place in the storage's own order."""
        self.commits.append(log_line(len(self.commits) + 1, resource, token, value))

    def fence_commit(self, token: int, *, resource: str = "r") -> None:
        """A fence in the storage's own order."""
        line = {"seq": len(self.commits) + 1, "resource": resource, "token": token, "fence": True}
        self.commits.append(msgspec.json.encode(line) + b"\n")

    def fault(self, kind: str, target: str, state: str, **more: Any) -> None:
        """A fault, as the nemesis saw it."""
        self.now += STEP
        value = {"target": target, "state": state, "evidence": "seen", **more}
        line = {"time": self.now, "process": "nemesis", "type": "info", "f": kind, "value": value}
        self.events.append(msgspec.json.encode(line))

    def _client(self, call: Call, kind: str, answered: dict[str, Any]) -> None:
        self.now += STEP
        event = {"time": self.now, "process": call.process, "type": kind, "f": call.f, **call.asked}
        self.events.append(msgspec.json.encode(event | answered))

    def written_to(self, folder: Path) -> tuple[Path, Path | None]:
        """The files of the run: its history, and the storage's own order if there is one."""
        history = folder / "history.jsonl"
        first = msgspec.json.encode({"fencepost": 1, "target": "generated", **self.header})
        history.write_bytes(b"\n".join([first, *self.events, b""]))
        if not self.commits:
            return history, None
        log = folder / "commits.jsonl"
        log.write_bytes(b"".join(self.commits))
        return history, log

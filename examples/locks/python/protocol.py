"""The line protocol of docs/adapters.md: copy this file, and write a class like `Lock`.

A lock raises `Failed` only if the request certainly had no effect and never will; any other
exception means that its outcome is unknown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, Protocol

Fields = dict[str, Any]


class Failed(Exception):  # noqa: N818 (the word of the protocol)
    """The request had no effect, and never will."""


class Lock(Protocol):
    """A lock library, with a deadline for every call and without retries."""

    versions: dict[str, str]

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lock within `wait` seconds; return token, ttl_ms and attempt_ns."""

    def release(self, resource: str, owner: str) -> None:
        """Release the lock if this owner still holds it, or raise Failed."""

    def revoke(self, resource: str, owner: str) -> None:
        """Undo an acquire whose outcome is unknown; without this method, its lease has to end."""

    def reconnect(self) -> None:
        """Drop all connections."""


def serve(connect: Callable[[Fields], Lock]) -> None:
    """Answer requests until standard input ends; `connect` gets the first one, with the settings."""
    start = json.loads(sys.stdin.readline())
    lock = connect(start)
    say(id=start["id"], outcome="ok", versions=lock.versions, stop=True)
    for line in sys.stdin:
        request = json.loads(line)
        say(id=request["id"], **_answer(lock, request))


def granted() -> None:
    """Report that the lock is granted but its token is still to be fetched: a fault may stop us here."""
    say(event="granted", wait=True)
    sys.stdin.readline()  # the line "go-on"


def say(**fields: Any) -> None:
    """Write one line to Fencepost."""
    print(json.dumps(fields), flush=True)  # noqa: T201 (the protocol)


def _answer(lock: Lock, request: Fields) -> Fields:
    resource, owner = request.get("resource", ""), request.get("owner", "")
    try:
        match request["op"]:
            case "acquire":
                return {"outcome": "ok", **lock.acquire(resource, owner, request["wait_ms"] / 1000)}
            case "stop" if owner is None:
                pass  # it holds nothing
            case "release" | "stop":
                lock.release(resource, owner)
            case "revoke" if hasattr(lock, "revoke"):
                lock.revoke(resource, owner)
            case "reconnect":
                lock.reconnect()
            case _:
                return {"outcome": "unsupported"}
    except Failed as error:
        return {"outcome": "failed", "reason": str(error)}
    except Exception as error:  # noqa: BLE001 (a timeout, for example: it may have taken effect)
        return {"outcome": "unknown", "reason": str(error)}
    return {"outcome": "ok"}

"""What a client speaks to, and what an error means for the operation that met it.

A lock or storage client raises one of three things:

Stale         the fence refused the write           -> fail, error "stale"
NotApplied    certain not to have taken effect      -> fail
any other     it may have taken effect, or may yet  -> info

A call that timed out is always of the last kind: its request may still be
outstanding. Clients never retry, and every call has a deadline that holds
while the server is stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from checkers.history import Outcome

UNWRITTEN = -1
"""The mark of what was never written: below every token, also the first of a service that counts from 0."""


class NotApplied(Exception):  # noqa: N818 - an outcome of the protocol, not a fault of the program
    """The operation did not take effect and never will; the message says why."""


class Stale(NotApplied):
    """The storage's fence refused the write: a newer token was there before."""

    def __init__(self) -> None:
        super().__init__("stale")


class Unknown(Exception):  # noqa: N818 - an outcome of the protocol, not a fault of the program
    """The operation may have taken effect, or may yet; the message says what was seen."""


def outcome_of(error: Exception) -> Outcome:
    """What the client may conclude from an error."""
    return Outcome.FAIL if isinstance(error, NotApplied) else Outcome.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The lock service gave the lock."""

    token: int
    ttl: int | None  # ns; None where the promise is carried by recorded renewals
    attempt: int | None  # ns, CLOCK_MONOTONIC; when the request that was granted was sent


@dataclass(frozen=True, slots=True)
class Answer:
    """How an operation ended, and what it carried."""

    outcome: Outcome
    fields: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Did it take effect?"""
        return self.outcome is Outcome.OK


class Session(Protocol):
    """One sequential thread of operations under one process number, recorded as it goes.

    An operation that ends in info ends that process: the next one runs under a
    new number, on a new connection.
    """

    def call(
        self,
        f: str,
        resource: str,
        action: Callable[[], dict[str, Any]],
        known: Mapping[str, Any] = ...,
        **fields: Any,
    ) -> Answer:
        """Record the call, run `action`, record what came back; never raises for the action's sake.

        `fields` go into both events; what `action` returns goes into the ok, and what
        it has put into `known` goes into any completion.
        """

    def granted(self, resource: str, owner: str) -> None:
        """Announce that the lock service has granted, and the answer is not complete yet.

        It is the stop point `granted`, inside an acquire: whoever calls this may be
        stopped here, before its next request.
        """


class Lock(Protocol):
    """A client of a lock service."""

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait for the lock and take it."""

    def release(self, resource: str, owner: str) -> None:
        """Give the lock back if it is still ours; NotApplied if it is not."""

    def revoke(self, resource: str, owner: str) -> None:
        """Take back an acquire whose outcome is not known."""

    def reconnect(self) -> None:
        """Drop every connection: the next call opens new ones."""

    def close(self) -> None:
        """Stop what runs beside the calls, and drop every connection."""


class Storage(Protocol):
    """A client of a storage, with the fencing that its target names."""

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token; `sent` is called once the request has left, before its answer."""

    def read(self, resource: str) -> tuple[str | None, int]:
        """Return the value and the token of the last accepted write; None and any number before the first."""

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and leave the value; Stale where it is above that already."""

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""


class Progress(Protocol):
    """Is told where a client stands in its critical section."""

    def reached(self, point: str, resource: str, owner: str, token: int) -> None:
        """The client is at a stop point: acquired, before-write, write-sent or before-release."""

    def accepted(self, resource: str, token: int) -> None:
        """A write of the client was accepted."""

    def left(self) -> None:
        """The client's critical section is over."""

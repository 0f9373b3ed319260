"""The protocols of lock and storage clients, and the errors that decide an operation's outcome.

A lock or storage client raises one of three errors:

Stale         the fence refused the write           -> fail, error "stale"
NotApplied    it certainly did not take effect      -> fail
any other     it may have taken effect, or may yet  -> info

A timeout is always the last kind: the request may still be outstanding. Clients
never retry, and every call has a deadline that holds while the server is stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from checkers.history.records import Outcome

UNWRITTEN = -1
"""The mark of a resource without writes: below every token, including 0."""


def as_stored(token: int | None) -> int:
    """The number under which a storage keeps a token; that of a write without one is below every token."""
    return UNWRITTEN if token is None else token


def from_stored(number: int) -> int | None:
    """The token behind such a number."""
    return None if number == UNWRITTEN else number


class NotApplied(Exception):  # noqa: N818 - an outcome of the protocol, not a fault of the program
    """The operation did not take effect and never will; the message says why."""


STALE = "stale"  # the error of such a write in a history


class Stale(NotApplied):
    """The storage's fence refused the write: it has seen a newer token."""

    def __init__(self) -> None:
        super().__init__(STALE)


GIVES_NONE = (
    'this lock gives no fencing token, which every storage.fencing but "none" needs: set storage.fencing and'
    ' lock.token to "none" to see which writes come too late, or use a lock that gives one'
)


class NoTokenError(Exception):
    """The lock was granted without a token, and the storage's fence needs one; the message has a remedy."""

    def __init__(self) -> None:
        super().__init__(GIVES_NONE)


class Unknown(Exception):  # noqa: N818 - an outcome of the protocol, not a fault of the program
    """The operation may have taken effect, or may yet; the message says what the client saw."""


def outcome_of(error: BaseException) -> Outcome:
    """What the client may conclude from an error."""
    return Outcome.FAIL if isinstance(error, NotApplied) else Outcome.INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The lock service granted the lock."""

    token: int | None  # None if the lock gives none
    ttl: int | None  # ns; None if recorded renewals define the lease
    attempt: int | None  # ns, CLOCK_MONOTONIC; when the successful request was sent

    def __post_init__(self) -> None:
        """Refuse what no history can record: its reader would find it only after the run."""
        for name in ("token", "ttl", "attempt"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise TypeError(f"Grant({name}={value!r:.60}): it is an int of 0 or more, or None")
        if self.attempt is not None and self.attempt > time.monotonic_ns():
            raise ValueError("the attempt of a Grant lies in the future: it is a time.monotonic_ns()")


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of an operation, and the fields of its result."""

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
        """Record the call, run `action`, and record its result; errors of `action` are recorded, not raised.

        `fields` go into both events, the result of `action` into an ok, and the contents of
        `known` into any completion.
        """

    def granted(self, resource: str, owner: str) -> None:
        """Announce that the lock service granted the lock, before the acquire is complete.

        This is the stop point `granted`: the client may be stopped here, before its next request.
        """


class Lock(Protocol):
    """A client of a lock service.

    A lock whose acquire sets the lease may say for how long it asks, in ns, by an attribute `asks_for`. It is
    recorded with the call: an acquire without an answer may have set that lease.

    A lock that releases by itself when its client is to leave has a method `leave_in_order`, which
    waits for that and returns whether the lock was released, as it has recorded.
    """

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait for the lock and take it."""

    def release(self, resource: str, owner: str) -> None:
        """Release the lock if we still hold it; NotApplied if we do not."""

    def revoke(self, resource: str, owner: str) -> None:
        """Undo an acquire whose outcome is unknown."""

    def reconnect(self) -> None:
        """Drop every connection: the next call opens new ones."""

    def close(self) -> None:
        """Stop background work such as renewals, and drop every connection."""


class Storage(Protocol):
    """A client of a storage, with the fencing of its target."""

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token; calls `sent` when the request has left, before the answer.

        The token is None only without a fence, if the lock gives none.
        """

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write; None and anything before the first."""

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value; Stale if the mark is higher."""

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""


class SectionProgress(Protocol):
    """Receives a client's progress through its critical section."""

    def waiting(self, resource: str) -> None:
        """The client asks for a lock, until it reaches a stop point or exits."""

    def reached(self, point: str, resource: str, owner: str, token: int | None) -> None:
        """The client reached a stop point: acquired, before-write, write-sent or before-release."""

    def accepted(self, resource: str, token: int | None) -> None:
        """The storage accepted a write of this client."""

    def exited(self) -> None:
        """The client left its critical section."""

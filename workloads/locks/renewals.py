"""Lease renewals, one after another, recorded under their own process number.

They run in a thread of the client's own OS process, so that a pause of the process
stops them too. One thread renews all locks that it holds in turn: to start one takes as long as a
round trip to a fast server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workloads.client import Session

PER_TTL = 3  # renewals
SECOND = 1_000_000_000  # ns

Action = Callable[[], dict[str, Any]]


@dataclass(slots=True)
class _Kept:
    """A lock whose lease is renewed until `stop` is set."""

    stop: threading.Event
    resource: str
    owner: str
    action: Action
    due: float  # seconds; when the next renewal is


class Renewals:
    """Renews the lease of one held lock at a time.

    Renewals have their own session, because a process has at most one open operation.
    """

    def __init__(
        self, session: Session, ttl: int, reconnect: Callable[[], None], asks_for: int | None
    ) -> None:
        """`asks_for` is the lease that a renewal asks for (ns); None if it promises nothing."""
        self._asked: dict[str, Any] = {} if asks_for is None else {"ttl": asks_for}
        self._session = session
        self._reconnect = reconnect
        self._one_call = threading.Lock()
        self._stop = threading.Event()
        self._held = ("", "")  # resource and owner
        self._interval = ttl / PER_TTL / SECOND  # seconds
        self._kept: _Kept | None = None
        self._closed = threading.Event()

    def begin(self, resource: str, owner: str) -> None:
        """Set the lock whose lease is renewed from now on."""
        self.stop()
        self._stop = threading.Event()
        self._held = (resource, owner)

    def granted(self) -> None:
        """Announce that this lock was granted, before the acquire is complete."""
        self._session.granted(*self._held)

    def renew(self, action: Action) -> bool:
        """Renew once, now; return whether it succeeded."""
        return self._renew(self._stop, *self._held, action)

    def keep(self, action: Action) -> None:
        """Renew from now on, until stopped or until the lease is lost."""
        is_first = self._kept is None
        self._kept = _Kept(self._stop, *self._held, action, time.monotonic() + self._interval)
        if is_first:
            threading.Thread(target=self._keep, daemon=True).start()

    def stop(self) -> None:
        """Stop renewing; a renewal in flight may still complete."""
        self._stop.set()

    def close(self, close: Callable[[], None]) -> None:
        """Stop, and close the connection once no renewal is in flight."""
        self.stop()
        self._closed.set()
        with self._one_call:
            close()

    def _keep(self) -> None:
        while (kept := self._kept) and not self._closed.wait(max(0.0, kept.due - time.monotonic())):
            if kept is self._kept:  # one that was kept later is due later
                self._renew(kept.stop, kept.resource, kept.owner, kept.action)
                kept.due = time.monotonic() + self._interval

    def _renew(self, stop: threading.Event, resource: str, owner: str, action: Action) -> bool:
        with self._one_call:
            if stop.is_set():
                return False
            answer = self._session.call("renew", resource, action, owner=owner, **self._asked)
            if answer.outcome == "info":
                self._reconnect()
            elif not answer.ok:
                stop.set()
            return answer.ok

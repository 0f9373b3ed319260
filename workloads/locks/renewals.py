"""What keeps a hold alive: renewals, one after another, recorded under a process number of their own.

They run in a thread of the client's own OS process, so that a pause of the process
stops them too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from workloads.client import Session

PER_TTL = 3  # renewals
SECOND = 1_000_000_000  # ns

Action = Callable[[], dict[str, Any]]


class Renewals:
    """The renewals of one hold at a time.

    They have a session of their own: a process has at most one operation open.
    """

    def __init__(self, session: Session, ttl: int, reconnect: Callable[[], None]) -> None:
        self._session = session
        self._ttl = ttl  # ns
        self._reconnect = reconnect
        self._one_call = threading.Lock()
        self._stop = threading.Event()
        self._hold = ("", "")

    def begin(self, resource: str, owner: str) -> None:
        """Whatever is renewed from now on is this hold."""
        self.stop()
        self._stop = threading.Event()
        self._hold = (resource, owner)

    def granted(self) -> None:
        """Announce that this hold was granted, before the answer is complete."""
        self._session.granted(*self._hold)

    def renew(self, action: Action) -> bool:
        """Renew once, now; was it done?"""
        return self._renew(self._stop, *self._hold, action)

    def keep(self, action: Action) -> None:
        """Renew from now on, until told to stop or told that the lease is lost."""
        arguments = (self._stop, *self._hold, action)
        threading.Thread(target=self._keep, args=arguments, daemon=True).start()

    def stop(self) -> None:
        """Renew nothing any more; what is under way may still end."""
        self._stop.set()

    def close(self, close: Callable[[], None]) -> None:
        """Stop, and close the connection once nothing is under way on it."""
        self.stop()
        with self._one_call:
            close()

    def _keep(self, stop: threading.Event, resource: str, owner: str, action: Action) -> None:
        while not stop.wait(self._ttl / PER_TTL / SECOND):
            self._renew(stop, resource, owner, action)

    def _renew(self, stop: threading.Event, resource: str, owner: str, action: Action) -> bool:
        with self._one_call:
            if stop.is_set():
                return False
            answer = self._session.call("renew", resource, action, owner=owner)
            if answer.outcome == "info":
                self._reconnect()
            elif not answer.ok:
                stop.set()
            return answer.ok

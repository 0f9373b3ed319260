"""Wrong storages on Redis, which keeps their data right."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workloads.client import UNWRITTEN, Stale
from workloads.settings import StorageSettings
from workloads.storages import redis

SOON = 0.4  # seconds; a client takes an answer that came later for none


class MarkOfEachConnection:
    """The newest token is in the session of each client, which knows nothing of the others."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = _unfenced(settings)
        self._marks: dict[str, int] = {}

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token above those of the same connection."""
        if token <= self._marks.get(resource, UNWRITTEN):
            raise Stale
        self._register.write(resource, token, value, sent)
        self._marks[resource] = token

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)


class MarkOfOneKeyMissing:
    """One key was there before the fence was, and has no mark."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._fenced = redis.connect(settings)
        self._unfenced = _unfenced(settings)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token above the mark, if there is one."""
        register = self._unfenced if resource == "r1" else self._fenced
        register.write(resource, token, value, sent)

    def reconnect(self) -> None:
        """Drop both connections: the next call opens new ones."""
        self._fenced.reconnect()
        self._unfenced.reconnect()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fenced, name)


class CheckedWhenOpened:
    """The token is compared when a holder opens the data, not when it writes."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = _unfenced(settings)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)


class RetryPastTheFence:
    """A write whose answer came late is repeated by an older function, which knows no tokens."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._first = redis.connect(settings)
        self._again = _unfenced(settings)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token; if that took too long, write once more."""
        began = time.monotonic()
        self._first.write(resource, token, value, sent)
        if time.monotonic() - began > SOON:
            self._again.write(resource, token, value, lambda: None)

    def reconnect(self) -> None:
        """Drop both connections: the next call opens new ones."""
        self._first.reconnect()
        self._again.reconnect()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._first, name)


def _unfenced(settings: StorageSettings) -> redis.RedisStorage:
    return redis.connect(replace(settings, fencing="none"))

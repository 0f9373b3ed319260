"""Reads from an in-process cache that the client's own writes fill.

Write through, read from memory: with a single holder the two agree. But the cache is not part
of the lock: a client that was stopped, or is just slow, still reads its own last write long
after another client has written. Lagging replicas show the same to everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.settings import StorageSettings
from workloads.storages import redis


class ReadFromACache:
    """The Redis script, and a cache of this client's last writes."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(settings)
        self._cache: dict[str, tuple[str | None, int | None]] = {}

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, and cache the value."""
        self._register.write(resource, token, value, sent)
        self._cache[resource] = value, token

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the cached value, or read it."""
        if resource not in self._cache:
            self._cache[resource] = self._register.read(resource)
        return self._cache[resource]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

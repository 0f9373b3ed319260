"""Reads from a cache in the program, which its own writes fill.

Write through, read from memory: as long as one holder is at it, the two agree. But the cache is
not part of the lock: whoever was stopped, or just slow, still reads what it wrote itself, long
after somebody else has written. Replicas that lag show the same to everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.settings import StorageSettings
from workloads.storages import redis


class ReadFromACache:
    """Redis' script, and beside it what this client wrote last."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(settings)
        self._cache: dict[str, tuple[str | None, int]] = {}

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token, and remember the value."""
        self._register.write(resource, token, value, sent)
        self._cache[resource] = value, token

    def read(self, resource: str) -> tuple[str | None, int]:
        """Return what is remembered, or look."""
        if resource not in self._cache:
            self._cache[resource] = self._register.read(resource)
        return self._cache[resource]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

"""Tokens beyond 2^53, compared as doubles, the number type of JavaScript and Lua.

A double has 53 significant bits: above that, neighbors compare equal. `tonumber` in a Redis
script, JSON.parse and a float column round silently. A counter that starts at 1 hardly gets
there, but 64-bit ids such as Snowflake's, a clock in nanoseconds and a store's revision are
there from the first day. Here tokens start at 2^60: all tokens of a run compare equal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workloads.client import Grant, Session
from workloads.locks import redis as locks
from workloads.settings import LockSettings, StorageSettings
from workloads.storages import redis

FIRST = 2**60
_STALE = "tonumber(token) < tonumber(mark)"


class LargeTokens:
    """The Redis lock, whose tokens start at 2^60."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = locks.connect(settings, renewals)

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait for the lock; the counter itself starts at 1, because its script uses doubles too."""
        grant = self._lock.acquire(resource, owner)
        return replace(grant, token=FIRST + (grant.token or 0))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class TokenPast2To53:
    """The Redis script with Lua's own numbers."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.RedisStorage(redis.connection(settings), _STALE)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

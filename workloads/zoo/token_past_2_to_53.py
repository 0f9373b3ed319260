"""Tokens beyond 2^53, compared as the doubles that JavaScript and Lua take for numbers.

A double has 53 bits for its digits: above that, neighbours become equal. `tonumber` in a script
of Redis, JSON.parse, and a float column do that without a word. A counter that begins at 1 will
hardly get so far, but ids of 64 bits, as Snowflake's, a clock in nanoseconds and the revision of
a store are there from the first day. Here is 2^60: all tokens of a run are one and the same.
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
    """Redis' lock, whose tokens begin at 2^60."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = locks.connect(settings, renewals)

    def acquire(self, resource: str, owner: str) -> Grant:
        """Wait for the lock; the counter itself begins at 1, since its script has doubles too."""
        grant = self._lock.acquire(resource, owner)
        return replace(grant, token=FIRST + grant.token)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class TokenPast2To53:
    """Redis' script with Lua's own numbers."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.RedisStorage(redis.connection(settings), _STALE)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

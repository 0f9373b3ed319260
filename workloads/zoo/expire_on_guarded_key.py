"""An expiry on the key that holds the mark, so that old keys do not pile up.

`SET mark:order-7 42 EX 3600` looks like good housekeeping. But the fence is needed exactly when
somebody comes back after a long time, and by then the mark is gone: to whoever finds no key,
every token is new. The eviction of a cache that is full does the same at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.client import Stale
from workloads.settings import StorageSettings
from workloads.storages import redis

EXPIRY = 300  # ms
_WRITE = """
local mark = redis.call('GET', KEYS[3])
if mark and tonumber(ARGV[1]) <= tonumber(mark) then return 'stale' end
redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[4])
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'value', ARGV[2])
redis.call('XADD', KEYS[2], '*', 'resource', ARGV[3], 'token', ARGV[1], 'value', ARGV[2])
return 'accepted'
"""


class ExpireOnGuardedKey:
    """A script of Redis that keeps the mark in a key of its own, for a while."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._connection = redis.connection(settings)
        self._register = redis.RedisStorage(self._connection, redis.NEVER)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token that is above the mark, if there still is one."""
        keys = (redis.key(resource), redis.LOG, f"fencepost/{resource}/mark")
        arguments = (token, value, resource, EXPIRY)
        if self._connection.execute("EVAL", _WRITE, len(keys), *keys, *arguments, sent=sent) == "stale":
            raise Stale

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

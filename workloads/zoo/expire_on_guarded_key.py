"""An expiry on the key that holds the mark, so that old keys do not accumulate.

`SET mark:order-7 42 EX 3600` looks like good housekeeping. But the fence is needed exactly
when a client comes back after a long time. By then the mark is gone, and a fence without a
mark accepts any token. Eviction from a full cache does the same at any time.
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
    """A Redis script that keeps the mark in a separate key with an expiry."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._connection = redis.connection(settings)
        self._register = redis.RedisStorage(self._connection, redis.NEVER)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token above the mark, if there still is a mark."""
        keys = (redis.key(resource), redis.log_key(), f"fencepost/{resource}/mark")
        arguments = (token, value, resource, EXPIRY)
        if self._connection.execute("EVAL", _WRITE, len(keys), *keys, *arguments, sent=sent) == "stale":
            raise Stale

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

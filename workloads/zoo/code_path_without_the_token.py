"""One code path that writes without the fence.

`save` has a fence, and it is correct. But what a holder writes after its first save goes
through an older function that only sets the field: the lock was checked a moment ago. A bulk
import, a repair script and an admin console are such paths too. One is enough: a client that
lost the lock in between writes past the fence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.settings import StorageSettings
from workloads.storages import redis

_SET = """
redis.call('HSET', KEYS[1], 'value', ARGV[1])
redis.call('XADD', KEYS[2], '*', 'resource', ARGV[2], 'value', ARGV[1])
"""


class CodePathWithoutTheToken:
    """The Redis script for a holder's first write, and a plain HSET for later ones."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._connection = redis.connection(settings)
        self._register = redis.RedisStorage(self._connection, redis.STALE[settings.policy])
        self._passed = ("", 0)

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, unless this holder has passed the fence before."""
        if self._passed == (resource, token):
            keys = (redis.key(resource), redis.log_key())
            self._connection.execute("EVAL", _SET, 2, *keys, value, resource, sent=sent)
            return
        self._register.write(resource, token, value, sent)
        self._passed = (resource, token)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

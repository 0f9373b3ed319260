"""A fence that accepts only the token it knows, instead of every token that is not older.

`if request.token != stored.token: refuse` refuses stale writers, and everybody else too:
after the first write, no later holder can write. The storage of etcd's lock demonstration
(`contrib/lock/storage`) compares versions like this.
"""

from __future__ import annotations

from typing import Any

from workloads.client import UNWRITTEN
from workloads.settings import StorageSettings
from workloads.storages import redis

_STALE = f"mark ~= '{UNWRITTEN}' and token ~= mark"


class EqualityFence:
    """The Redis script with the wrong comparison."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.RedisStorage(redis.connection(settings), _STALE)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

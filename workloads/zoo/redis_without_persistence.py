"""Redis as a storage, with occasional snapshots and nothing in between.

That is the default: `appendonly no`. After a crash the server restarts from its last
snapshot, and has lost everything acknowledged since, values and marks alike. The holders do
not notice, and old tokens are accepted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from workloads.redis_connection import RedisConnection
from workloads.settings import REDIS_ADMINISTRATOR, StorageSettings
from workloads.storages import redis


class RedisWithoutPersistence:
    """The Redis script on a server without an append-only file."""

    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(settings)

    @staticmethod
    def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
        """Create the hashes; later writes stay in memory."""
        redis.set_up(settings, resources)
        address, password = settings.endpoints[0], settings.password
        with closing(RedisConnection(address, settings.timeout, password, REDIS_ADMINISTRATOR)) as connection:
            connection.execute("CONFIG", "SET", "appendonly", "no")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

"""Redis as a storage, with a snapshot now and then and nothing in between.

So it comes out of the box: `appendonly no`. When the server dies it starts again with its last
snapshot, and what was acknowledged since is gone, values and marks alike. The holders do not
notice, and nobody's token is old any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from workloads.redis_connection import RedisConnection
from workloads.settings import REDIS_ADMINISTRATOR, StorageSettings
from workloads.storages import redis


class RedisWithoutPersistence:
    """Redis' script on a server that keeps no log of its commands."""

    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(settings)

    @staticmethod
    def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
        """Make the hashes; what comes after them stays in memory."""
        redis.set_up(settings, resources)
        address, password = settings.endpoints[0], settings.password
        with closing(RedisConnection(address, settings.timeout, password, REDIS_ADMINISTRATOR)) as connection:
            connection.execute("CONFIG", "SET", "appendonly", "no")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

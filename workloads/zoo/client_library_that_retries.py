"""A library that sends a write again when its answer does not come.

redis-py repeats a command after a timeout or a lost connection, ten times unless it is told
otherwise; boto3, many HTTP clients and every service mesh have such a default. But no answer
does not mean no effect: the write had arrived, and arrives once more. Whoever appends, counts
or pays does it twice, and the storage's fence sees nothing but the holder's own token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from redis import Redis

from workloads.settings import StorageSettings, host_and_port
from workloads.storages import redis

_TIMEOUT = 0.3  # seconds


class _Library:
    """Redis' commands through redis-py, which nobody told not to retry."""

    def __init__(self, settings: StorageSettings) -> None:
        host, port = host_and_port(settings.endpoints[0])
        self._redis: Any = Redis(
            host=host,
            port=port,
            password=settings.password or None,
            socket_timeout=_TIMEOUT,
            protocol=2,  # no greeting: what is repeated leaves at once, as with most libraries
            driver_info=None,
            decode_responses=True,
        )

    def execute(self, *command: str | int, sent: Callable[[], None] | None = None) -> Any:
        """Return the answer; `sent` is called late, since the library does not tell when it has sent."""
        answer = self._redis.execute_command(*command)
        if sent is not None:
            sent()
        return answer

    def close(self) -> None:
        """Drop every connection."""
        self._redis.close()


class ClientLibraryThatRetries:
    """Redis' script, written through a library that repeats what it hears nothing of."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(replace(settings, timeout=_TIMEOUT))
        self._written = redis.RedisStorage(_Library(settings), redis.STALE[settings.policy])

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token, once or more often."""
        self._written.write(resource, token, value, sent)

    def reconnect(self) -> None:
        """Drop every connection: the next call opens a new one."""
        self._written.reconnect()
        self._register.reconnect()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

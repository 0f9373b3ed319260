"""A library that sends a write again when it gets no answer.

By default, redis-py repeats a command up to ten times after a timeout or a lost connection;
boto3, many HTTP clients and every service mesh have similar defaults. But no answer does not
mean no effect: the write had arrived, and now arrives again. An append, a counter or a
payment happens twice, and the storage's fence sees only the holder's own token.
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
    """Redis commands through redis-py, with its default retries."""

    def __init__(self, settings: StorageSettings) -> None:
        host, port = host_and_port(settings.endpoints[0])
        self._redis: Any = Redis(
            host=host,
            port=port,
            password=settings.password or None,
            socket_timeout=_TIMEOUT,
            protocol=2,  # no HELLO: a repeated command is sent immediately, as in most libraries
            driver_info=None,
            decode_responses=True,
        )

    def execute(self, *command: str | int, sent: Callable[[], None] | None = None) -> Any:
        """Return the answer; `sent` is called late, because the library has no event for sending."""
        answer = self._redis.execute_command(*command)
        if sent is not None:
            sent()
        return answer

    def close(self) -> None:
        """Drop every connection."""
        self._redis.close()


class ClientLibraryThatRetries:
    """The Redis script, called through a library that repeats unanswered commands."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(replace(settings, timeout=_TIMEOUT))
        self._written = redis.RedisStorage(_Library(settings), redis.STALE[settings.policy])

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, once or more often."""
        self._written.write(resource, token, value, sent)

    def reconnect(self) -> None:
        """Drop every connection: the next call opens a new one."""
        self._written.reconnect()
        self._register.reconnect()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

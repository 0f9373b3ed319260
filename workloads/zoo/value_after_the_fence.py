"""The fence in one request, the value in the next.

A script compares the token and raises the mark; then the program stores the value elsewhere:
in another key, a file, a bucket. A client that is stopped between the two has already passed
the fence, and overwrites newer data. The storage now has the old value under the new token.
The value must be written in the same step as the fence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.settings import StorageSettings
from workloads.storages import redis


class ValueAfterTheFence:
    """The Redis script for the token alone, and a SET for the value."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._connection = redis.connection(settings)
        self._register = redis.RedisStorage(self._connection, redis.STALE[settings.policy])

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Pass the fence, then set the value; calls `sent` between the two."""
        self._register.write(resource, token, value, sent)
        self._connection.execute("SET", _value_key(resource), value)

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the last value set, and the last token that passed the fence."""
        _, token = self._register.read(resource)
        return self._connection.execute("GET", _value_key(resource)), token

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)


def _value_key(resource: str) -> str:
    return f"{redis.key(resource)}/value"

"""Tokens compared as strings, so that "10" comes before "9".

Redis stores strings, and Lua compares two strings character by character; so do a text
column in SQL, and JSON with the token in quotes. All is well until tokens get one digit
longer: then every new holder is stale, and the old one is not.
"""

from __future__ import annotations

from typing import Any

from workloads.settings import StorageSettings
from workloads.storages import redis

_STALE = "token <= mark"


class StringComparisonOfTokens:
    """The Redis script without `tonumber`."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.RedisStorage(redis.connection(settings), _STALE)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

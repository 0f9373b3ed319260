"""A timeout that is told as a failure.

`except TimeoutError: return False` reads well, and so does HTTP's 500. But no answer is not a
no: the write had left, and took effect, or will. Whoever is told that it failed does something
else in its place, or the same again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workloads.client import NotApplied, Unknown
from workloads.settings import StorageSettings
from workloads.storages import redis

_TIMEOUT = 0.3  # seconds


class TimeoutCountedAsFailure:
    """Redis' script, whose caller hears of a failure where nobody knows."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(replace(settings, timeout=_TIMEOUT))

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token, and say that it failed if no answer came."""
        try:
            self._register.write(resource, token, value, sent)
        except Unknown as error:
            raise NotApplied(str(error)) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

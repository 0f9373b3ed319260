"""A timeout that is reported as a failure.

`except TimeoutError: return False` reads well, and so does HTTP's 500. But no answer does not
mean no effect: the write was sent, and took effect or will. A caller that sees a failure does
something else instead, or repeats the write.
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
    """The Redis script, whose caller sees a failure when the outcome is unknown."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(replace(settings, timeout=_TIMEOUT))

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, and report a failure if no answer came."""
        try:
            self._register.write(resource, token, value, sent)
        except Unknown as error:
            raise NotApplied(str(error)) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

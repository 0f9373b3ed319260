"""A fence that asks for a newer token each time, under a holder that writes more than once.

`token > mark` is the right comparison where each grant writes once. Where a holder saves, and
saves again, its own second write carries the token of its first, and is refused as stale
though nobody else has been there: it needs `token >= mark`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workloads.settings import StorageSettings
from workloads.storages import redis


class StrictFenceTwoWrites:
    """Redis' script with `<`, whatever the target's policy says."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(replace(settings, policy="strict"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

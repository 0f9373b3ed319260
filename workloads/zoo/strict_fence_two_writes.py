"""A fence that requires a newer token each time, with a holder that writes more than once.

`token > mark` is the right comparison if each grant writes once. If a holder saves twice, its
second write carries the token of the first, and is refused as stale although no other client
wrote: it needs `token >= mark`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workloads.settings import StorageSettings
from workloads.storages import redis


class StrictFenceTwoWrites:
    """The Redis script with `<`, whatever the target's policy."""

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = redis.connect(replace(settings, policy="strict"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

"""Read the mark, compare it in the program, then write: three steps instead of one.

It passes every test, because the two requests are close together. At READ COMMITTED nothing
locks the row in between, so a client that is stopped there continues with an outdated
comparison, and overwrites newer data. A transaction around the two changes nothing;
`FOR UPDATE`, or a comparison inside the UPDATE, fixes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workloads.client import Stale
from workloads.settings import StorageSettings
from workloads.storages import postgres


class CheckThenWrite:
    """A row in PostgreSQL whose token the client compares."""

    set_up = staticmethod(postgres.set_up)
    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = postgres.connect(replace(settings, fencing="none"))

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Read the newest token, and write if it is older than ours; calls `sent` between the two."""
        _, newest = self._register.read(resource)
        if newest is not None and token <= newest:
            raise Stale
        sent()
        self._register.write(resource, token, value, lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

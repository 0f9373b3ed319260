"""Read the mark, compare it in the program, then write: three steps where one was needed.

It passes every test, for the two requests are close together. At READ COMMITTED nothing
holds the row in between, so whoever is stopped there wakes up with a comparison that was
true once, and writes over whatever came meanwhile. A transaction around the two changes
nothing; `FOR UPDATE`, or the comparison inside the UPDATE, does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workloads.client import Stale
from workloads.settings import StorageSettings
from workloads.storages import postgres


class CheckThenWrite:
    """A row of PostgreSQL whose token is compared by the client."""

    set_up = staticmethod(postgres.set_up)
    committed = staticmethod(postgres.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._register = postgres.connect(replace(settings, fencing="none"))

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Look at the newest token, and write if it is older than mine; between the two, `sent` is called."""
        _, newest = self._register.read(resource)
        if token <= newest:
            raise Stale
        sent()
        self._register.write(resource, token, value, lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

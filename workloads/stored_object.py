"""What a store has under a key, and the version of it, on which the next write can depend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workloads.client import NotApplied


class LostRaceError(NotApplied):
    """The object is no longer the one that was read: the conditional write was not applied."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object, as it was read or written."""

    content: dict[str, Any]
    version: str  # such as an ETag or a revision; "" if the answer to a write had none

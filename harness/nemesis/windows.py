"""Windows of a fault: the occasions that it had, and what became of each.

A fault at a stop point has one each time that a client stops there; a fault at seeded moments has one for
each moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TAKEN = "another fault had its victim"
LOST = "others had been granted the lock by then"
NO_VICTIM = "no client that it could hit was free of other faults in time"
NO_ROOM = "its servers were under other faults, or what it waits for did not happen in time"
NO_STOP = "no client came to its stop point in time"
NO_TAKEOVER = "no other client had taken over by its end"
NOT_EXPIRED = "the lease was still good at its end"
WENT_FURTHER = "more than it waited for had happened by its end"

Tally = Callable[[str | None], None]
"""Gets, for each window, why it was missed; None: it was hit."""


@dataclass(slots=True)
class Windows:
    """The windows of one fault of the target."""

    fault: str  # such as "pause holder before-write"
    hit: int = 0
    missed: Counter[str] = field(default_factory=Counter)

    def add(self, why: str | None) -> None:
        """Add a window that was hit, or missed for a reason."""
        if why is None:
            self.hit += 1
        else:
            self.missed[why] += 1

    def document(self) -> dict[str, Any]:
        """Return the content of plan.json."""
        return {"fault": self.fault, "hit": self.hit, "missed": dict(self.missed)}

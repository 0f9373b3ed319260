"""Windows of a fault: the occasions that it had, and what became of each.

A fault at a stop point has one each time that a client stops there; a fault at seeded moments has one for
each moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from harness.nemesis.triggers import wait_until

NO_GRANT = "no client held a lock while it was in force"
NO_HOLDER = "no client that it could hit held a lock in time"
NO_WAITER = "no client waited for the lock of its holder"
NO_MOMENT = "what it waits for did not happen in time"
NO_STOP = "no client came to its stop point in time"
NO_TAKEOVER = "no other client had taken over by its end"
NOT_EXPIRED = "the lease was still good at its end"
RUN_OVER = "the run ended before it could begin"
WENT_FURTHER = "more than it waited for had happened by its end"

LOST = "lost"
"""No window at all: there is no hold any more that a fault could hit, so the client is let go."""


def another(by: str | None, had: str) -> str:
    """Name the fault that had a victim or servers; None: that fault is over by now."""
    return f"another fault {had}" if by is None else f"another fault ({by}) {had}"


had_victim = partial(another, had="had its victim")
had_servers = partial(another, had="had its servers")

Tally = Callable[[str | None], None]
"""Gets, for each window, why it was missed; None: it was hit."""


def each_moment(moments: Iterable[int], is_over: Callable[[], bool], window: Tally) -> Iterator[int]:
    """Yield each moment (ns) once it has come; after the end of the run, the rest counts as missed."""
    for moment in moments:
        wait_until(lambda: False, moment, is_over)
        if is_over():
            window(RUN_OVER)
        else:
            yield moment


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

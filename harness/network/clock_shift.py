"""By how much the clock of a server is shifted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """A clock that is ahead, and may gain more for a while; moments are of CLOCK_MONOTONIC."""

    ahead: int = 0  # ns; until the moment `since`
    drift: float = 0.0  # seconds that it gains in each second from then on
    since: int = 0  # ns
    until: int | None = None  # ns; None: for ever

    def at(self, now: int) -> int:
        """Return how far it is ahead at a moment (ns)."""
        end = now if self.until is None else min(now, self.until)
        return self.ahead + round(self.drift * max(0, end - self.since))

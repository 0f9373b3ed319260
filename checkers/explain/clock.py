"""Moments and durations in words, in a unit that shows the differences within one run."""

from __future__ import annotations

from dataclasses import dataclass

_UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))  # ns
_FINE = 10  # a run shorter than this part of a unit is shown in the next smaller one


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Formats the times of a run; all are ns."""

    started: int
    ended: int

    def moment(self, time: float) -> str:
        """Format a moment, since the start."""
        return self.duration(time - self.started)

    def span(self, begin: float, end: float) -> str:
        """Format an interval, since the start: "0.086–2.263 s"."""
        first, last = self.moment(begin), self.moment(end)
        number, _, unit = first.partition(" ")
        return f"{number}–{last}" if last.endswith(f" {unit}") else f"{first} – {last}"

    def duration(self, time: float) -> str:
        """Format a duration; in seconds for a run of seconds."""
        longest = max(abs(time), self.ended - self.started)
        for size, name in _UNITS:
            if longest * _FINE >= size:
                return f"{time / size:.3f} {name}"
        return f"{time:.0f} ns"

"""Moments and durations in words, in a unit that shows the differences within one run.

Two moments of one story that differ never read the same: they get more digits until they differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from checkers.text.limits import UNITS

_FINE = 10  # a run shorter than this part of a unit is shown in the next smaller one
_DIGITS = (3, 6, 9)  # after the point; 9 of a second are ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Formats the times of a run; all are ns."""

    started: int
    ended: int
    digits: Mapping[float, int] = field(default_factory=dict)  # of the moments that need more than usual

    def moment(self, time: float) -> str:
        """Format a moment, since the start."""
        return self._formatted(time - self.started, self.digits.get(time, _DIGITS[0]))

    def telling_apart(self, moments: Iterable[float]) -> Clock:
        """Return a clock on which those of these moments that differ also read differently."""
        digits: dict[float, int] = {}
        alike = set(moments)
        for usual, finer in pairwise(_DIGITS):
            by_text: dict[str, list[float]] = defaultdict(list)
            for time in alike:
                by_text[self._formatted(time - self.started, usual)].append(time)
            alike = {time for same in by_text.values() if len(same) > 1 for time in same}
            digits |= dict.fromkeys(alike, finer)
        return replace(self, digits=digits)

    def span(self, begin: float, end: float) -> str:
        """Format an interval, since the start: "0.086–2.263 s"."""
        first, last = self.moment(begin), self.moment(end)
        number, _, unit = first.partition(" ")
        return f"{number}–{last}" if last.endswith(f" {unit}") else f"{first} – {last}"

    def duration(self, time: float) -> str:
        """Format a duration; in seconds for a run of seconds."""
        return self._formatted(time, _DIGITS[0])

    def _formatted(self, time: float, digits: int) -> str:
        longest = max(abs(time), self.ended - self.started)
        for size, name in UNITS:
            if longest * _FINE >= size:
                return f"{time / size:.{digits}f} {name}"
        return f"{time:.0f} ns"

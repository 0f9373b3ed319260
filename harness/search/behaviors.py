"""What runs have shown so far, and how much is likely to be left: when a search has dried up.

A behavior is a hazard that a fault hit, or a count of the coverage, by its order of magnitude. How many
are left is estimated from those that were seen in one run only and in two
(Chao2, for incidences in samples: A. Chao, Biometrics 43, 1987).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from checkers.document import VerdictDocument

ENOUGH_RUNS = 10
"""Of fewer runs, nothing is estimated."""
_DRY = 0.5  # of a behavior left


@dataclass(slots=True)
class Behaviors:
    """In how many runs each behavior was seen."""

    runs: int = 0
    seen: Counter[tuple[object, ...]] = field(default_factory=Counter)

    def add(self, document: VerdictDocument) -> int:
        """Add a run, and return how many of its behaviors are new."""
        shown = {*_counts(document), *_hazards(document)}
        new = len(shown - self.seen.keys())
        self.seen.update(shown)
        self.runs += 1
        return new

    @property
    def left(self) -> float | None:
        """Estimate how many behaviors no run has shown yet; None after few runs."""
        if self.runs < ENOUGH_RUNS:
            return None
        once = sum(runs == 1 for runs in self.seen.values())
        twice = sum(runs == 2 for runs in self.seen.values())  # noqa: PLR2004 - as the name says
        estimate = once**2 / (2 * twice) if twice else once * (once - 1) / 2
        return estimate * (self.runs - 1) / self.runs

    @property
    def dried_up(self) -> bool:
        """Is a further run unlikely to show anything new?"""
        return self.left is not None and self.left < _DRY


def _counts(document: VerdictDocument) -> Iterator[tuple[object, ...]]:
    counted = document.coverage.items() | document.anomalies.items()
    return ((name, number.bit_length()) for name, number in counted if number)


def _hazards(document: VerdictDocument) -> Iterator[tuple[object, ...]]:
    return ((name,) for name in (document.hazards.hit if document.hazards else ()))

"""What runs have shown so far, and how much is likely to be left: when a search has dried up.

A behavior is a hazard that a fault hit, or a count of the coverage, by its order of magnitude. A run shows
several, and the faults of its plan came together in one way: which of them were in force at once. How many
are left is estimated from those that were seen in one run only and in two (Chao2 for behaviors, Chao1 for
the ways in which faults came together: A. Chao, Biometrics 43, 1987; Scandinavian J. of Statistics 11, 1984).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from checkers.history.faults import Fault
from checkers.vocabulary.document import VerdictDocument
from harness.report.sentences import count

ENOUGH_RUNS = 10
"""Of fewer runs, nothing is estimated."""
_DRY = 0.5  # of a behavior left

Signature = AbstractSet[AbstractSet[str]]
"""The sets of faults that were in force at once, such as {pause client, pause storage}."""


@dataclass(slots=True)
class Behaviors:
    """In how many runs each behavior was seen, and each way in which faults came together."""

    runs: int = 0
    seen: Counter[Hashable] = field(default_factory=Counter)
    signatures: Counter[Signature] = field(default_factory=Counter)

    def add(self, document: VerdictDocument, faults: Sequence[Fault] = ()) -> int:
        """Add a run, and return how much of what it showed is new."""
        shown = {*_counts(document), *_hazards(document)}
        came_together = signature(faults)
        new = len(shown - self.seen.keys()) + (came_together not in self.signatures and bool(faults))
        self.seen.update(shown)
        self.signatures[came_together] += 1
        self.runs += 1
        return new

    @property
    def left(self) -> float | None:
        """Estimate how much no run has shown yet; None after few runs."""
        if self.runs < ENOUGH_RUNS:
            return None
        return _unseen(self.seen, self.runs) + _unseen(self.signatures, self.runs)

    @property
    def dried_up(self) -> bool:
        """Is a further run unlikely to show anything new?"""
        return self.left is not None and self.left < _DRY

    def __str__(self) -> str:
        left = "" if self.left is None else f"; about {self.left:.1f} more are left by estimate"
        return (
            f"seen: {count(len(self.seen), 'behavior')},"
            f" and {count(len(self.signatures), 'set')} of faults that were in force at once{left}"
        )


def signature(faults: Sequence[Fault]) -> Signature:
    """Return the sets of faults that were in force at once; a client is like any other."""
    together = set()
    for fault in faults:
        at_once = (each for each in faults if each.began <= fault.began <= each.healed)
        together.add(frozenset(f"{each.kind} {_side(each)}" for each in at_once))
    return frozenset(together)


def _side(fault: Fault) -> str:
    """Return "client", or the servers."""
    return "client" if fault.client is not None else fault.target


def _unseen(seen: Counter[Hashable] | Counter[Signature], runs: int) -> float:
    once = sum(times == 1 for times in seen.values())
    twice = sum(times == 2 for times in seen.values())  # noqa: PLR2004 - as the name says
    estimate = once**2 / (2 * twice) if twice else once * (once - 1) / 2
    return estimate * (runs - 1) / runs


def _counts(document: VerdictDocument) -> Iterator[tuple[object, ...]]:
    counted = document.coverage.items() | document.anomalies.items()
    return ((name, number.bit_length()) for name, number in counted if number)


def _hazards(document: VerdictDocument) -> Iterator[tuple[object, ...]]:
    return ((name,) for name in (document.hazards.hit if document.hazards else ()))

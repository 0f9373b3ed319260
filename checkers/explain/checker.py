"""A checker: the rule that looks for some anomalies, and where it looks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence
from checkers.vocabulary.verdict import Evidence as Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """Judges evidence: no I/O, no clock, no randomness, so a stored run can be judged again."""

    name: str
    evidence: Kind
    decides: tuple[str, ...]  # the anomalies it looks for
    check: Callable[[Evidence], Iterable[Conflict]]
    compares_only: bool = False  # does it ask only how times and tokens compare, and which values are equal?

"""The first lines of a run's report: its headline, why it matters, and what to do."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from checkers.vocabulary.anomalies import ANOMALIES
from checkers.vocabulary.anomaly import Anomaly

_LABEL_ENDS = ": "
UNDECIDED, CONTRADICTION = "Undecided", "Contradiction"


class Tone(enum.StrEnum):
    """Is the verdict what it should be?"""

    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"
    NEUTRAL = "neutral"  # interrupted, or no fault counted, before it could show anything wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAnswer:
    """What a run shows, for a reader who reads nothing else."""

    tone: Tone
    label: str  # "Found as planned", "BUG", "The fence held", "Not tested", …
    happened: str  # what follows the label
    verdict: str  # "Verdict: invalid, as this target expects"
    matters: str  # one sentence
    remedy: str  # one sentence
    terms: str = ""  # what "stale write" and "token" mean, if these sentences use them
    twin: Path | None = None  # a target without this bug
    anomaly: Anomaly | None = None  # the anomaly that it is about
    leads: tuple[str, ...] = ()  # every anomaly in the headline
    interrupted: str = ""  # "interrupted at 5 of 20 s"

    @property
    def headline(self) -> str:
        """The label and what happened."""
        return f"{self.label}{_LABEL_ENDS}{self.happened}"

    @property
    def says_why(self) -> bool:
        """Does the headline say every reason?"""
        return self.label in {UNDECIDED, CONTRADICTION}

    @property
    def documentation(self) -> str:
        """Where the anomaly is explained."""
        return f"docs/anomalies.md#{self.anomaly.name}" if self.anomaly else ""


TOKEN = "a token is a number that grows with each grant of the lock"  # noqa: S105 (not a password)
STALE_WRITE = f"a write is stale if the storage has already accepted a newer token; {TOKEN}"
STALE_WITHOUT_TOKENS = "a write is stale if a later holder of the lock has already written"

_ABOUT_TOKENS = frozenset(
    {
        "late-write",
        "false-rejection",
        "high-water-regression",
        "unfenced-write",
        "duplicate-token",
        "token-regression",
        "early-grant",
        "double-belief",
        "lost-update",
        "non-linearizable",
    }
)
"""The anomalies whose sentences speak of tokens."""


def terms_of(anomaly: Anomaly | None) -> str:
    """Explain the terms in the sentences about an anomaly; empty if there are none."""
    if anomaly is None:
        return ""
    if anomaly.name == "stale-write":
        return STALE_WRITE if anomaly == ANOMALIES[anomaly.name] else STALE_WITHOUT_TOKENS
    return TOKEN if anomaly.name in _ABOUT_TOKENS else ""

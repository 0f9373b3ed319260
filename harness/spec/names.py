"""The names of images, anomalies and counts that a target file may use."""

from __future__ import annotations

from collections.abc import Mapping

from checkers.text.repeated import repeated
from checkers.vocabulary.anomalies import ANOMALIES, VIOLATIONS
from checkers.vocabulary.counts import COVERAGE, counted
from harness.core.suggestions import did_you_mean
from harness.engines.built_images import is_ours, our_images
from harness.nemesis.faults import FAULTS

EXPECTABLE = tuple(name for name in ANOMALIES if name in VIOLATIONS)
"""The anomalies that may be expected; the others are only counted and make no run invalid."""

HAZARDS = "hazards"
"""The name in [require] of how many dangerous moments a run must have seen; "all" are as many as possible."""

COUNTS: Mapping[str, str] = COVERAGE | {
    name: counted(name) for fault in FAULTS.values() for name in fault.counts if name not in COVERAGE
}
"""What [require] may count, and what each is."""


def known_image(name: str) -> str:
    """Return the name of an image; ValueError if it claims to be one of ours but is not."""
    if is_ours(name) and ":" not in name and name not in our_images():
        raise ValueError(f"Fencepost has no image {name}{did_you_mean(name, our_images())}")
    return name


def known_anomalies(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names; ValueError if one is not an anomaly's, or is repeated."""
    return _known("anomaly", names, EXPECTABLE)


def known_coverage(name: str) -> str:
    """Return the name; ValueError if it is not a coverage count."""
    _known("coverage", (name,), (*COUNTS, HAZARDS))
    return name


def _known(what: str, names: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    wrong = [f"unknown {what} {name}{did_you_mean(name, known)}" for name in names if name not in known]
    wrong += [f"{name} is repeated" for name in repeated(names)]
    if wrong:
        raise ValueError(" And ".join(wrong))
    return names

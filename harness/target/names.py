"""Names that a target file may use."""

from __future__ import annotations

from checkers.anomalies import ANOMALIES, COVERAGE, VIOLATIONS
from harness.core.suggestions import did_you_mean
from harness.engines.built_images import is_ours, our_images

EXPECTABLE = tuple(name for name in ANOMALIES if name in VIOLATIONS)
"""What may be expected; the other anomalies are counted, and never make a run invalid."""


def known_image(name: str) -> str:
    """Return the name of an image; raise ValueError where it is one of ours that there is not."""
    if is_ours(name) and ":" not in name and name not in our_images():
        raise ValueError(f"Fencepost builds no image {name}{did_you_mean(name, our_images())}")
    return name


def known_anomalies(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names if each is an anomaly's, and stands once; else raise ValueError."""
    return _known("anomaly", names, EXPECTABLE)


def known_coverage(name: str) -> str:
    """Return the name if it is of something that a run counts; else raise ValueError."""
    _known("coverage", (name,), tuple(COVERAGE))
    return name


def _known(what: str, names: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    wrong = [f"no {what} is called {name}{did_you_mean(name, known)}" for name in names if name not in known]
    wrong += [f"{name} stands twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    if wrong:
        raise ValueError(" And ".join(wrong))
    return names

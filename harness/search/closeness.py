"""How close a run came to a violation: the steps on the way to a stale write, as far as it got."""

from __future__ import annotations

from checkers.vocabulary.document import VerdictDocument

STEPS = (
    ("pauses_past_lease", "a pause outlived a lease"),
    ("grants_to_others", "another client was granted the lock meanwhile"),
    ("late_writes_attempted", "a superseded holder wrote"),
    ("stale_writes_attempted", "a stale write was attempted"),
)
"""Counts of the coverage, each with what it means; a later one is closer."""

Closeness = tuple[int, int]
"""How many of the steps, and how often the last of them; larger is closer."""

VIOLATED = (len(STEPS) + 1, 0)


def closeness(document: VerdictDocument) -> Closeness:
    """Return how close a run came."""
    if document.verdict == "invalid":
        return VIOLATED
    reached = [number for number, (name, _) in enumerate(STEPS, start=1) if document.coverage.get(name)]
    last = max(reached, default=0)
    return last, document.coverage[STEPS[last - 1][0]] if last else 0


def described(close: Closeness) -> str:
    """Say how close that is."""
    steps, times = close
    if close == VIOLATED:
        return "a violation"
    return f"{STEPS[steps - 1][1]} (×{times:,})" if steps else "no lease was in danger"

"""The two terms in the first lines of an answer, each explained in a clause."""

from __future__ import annotations

from checkers.vocabulary.anomalies import ANOMALIES, Anomaly

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

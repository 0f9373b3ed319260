"""Words for an anomaly that breaks a rule which the usual words do not fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from checkers.vocabulary.anomalies import ANOMALIES
from checkers.vocabulary.anomaly import Anomaly

_OF_RULES: dict[tuple[str, str], dict[str, Any]] = {
    ("early-grant", "promised-by-tokens"): {
        "definition": (
            "By its token, a grant came after one whose lease was still promised: it came too early, or the"
            " tokens are not in the order of the grants."
        ),
        "label": "too early, by its token",
        "once": "by its token, the lock was given away while another's lease was still promised",
        "several": (
            "by its tokens, the lock was given away {count} times while another's lease was still promised"
        ),
        "remedy": (
            "Draw the token in the same step as the grant. If it is: release a lock only if it is still your"
            " own, in one atomic step, and keep it until its lease is over, also through restarts and"
            " failovers."
        ),
    },
    ("stale-write", "after-later-hold"): {
        "definition": "A write of an earlier holder took effect after a write of a later holder had.",
        "label": "STALE: earlier holder accepted",
        "arises": (
            "A holder is stopped or cut off until its lease is over and another client has written;"
            " then its own write arrives, and without a token no storage can tell the two apart."
        ),
        "remedy": (
            "Use a lock that gives a fencing token, which rises from grant to grant, and let the storage"
            " refuse every older one: a lock without tokens cannot protect a storage."
        ),
    },
}
"""The fields that differ, by anomaly and rule."""


def described(name: str, rule: str = "") -> Anomaly | None:
    """Return an anomaly in words that fit the rule it broke; None if the name is unknown."""
    known = ANOMALIES.get(name)
    return known and replace(known, **_OF_RULES.get((name, rule), {}))

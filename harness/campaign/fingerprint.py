"""Fingerprints: the shape of a failure, the same for every seed, time and client number.

The shape of a finding is its anomaly and the rule that was broken. The shape of a run is the shape
of its first finding by rank; without findings, it is what had to be found. Together with the cell,
it distinguishes one bug from another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from checkers.anomalies import RANK

_LENGTH = 12  # hexadecimal digits


def fingerprint(cell: str, verdict: Mapping[str, Any]) -> str:
    """Return the fingerprint of a run that is not as expected, or in which nothing was expected."""
    return hashlib.sha256(f"{cell}\n{_shape(verdict)}".encode()).hexdigest()[:_LENGTH]


def _shape(verdict: Mapping[str, Any]) -> str:
    found = {(RANK[each["anomaly"]], each["anomaly"], each.get("rule", "")) for each in verdict["findings"]}
    if found:
        return " ".join(min(found)[1:])
    expected = verdict["expected"]
    wanted = [] if expected == "valid" else [name for name in expected if not verdict["anomalies"].get(name)]
    return " ".join(["not found:", *wanted])

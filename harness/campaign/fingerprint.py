"""Fingerprints: the shape of a failure, the same for every seed, time and client number.

The shape of a finding is its anomaly, the rule that was broken, the roles of the operations that
prove it, and the kind of the fault that opened the window. The shape of a run is the shape of its
first finding by rank that follows from no other one; without findings, it is what had to be found.
Together with the cell, it distinguishes one bug from another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from harness.report.first_finding import primary, shape_of

FORM = 4
"""Grows whenever the shape of a failure changes: fingerprints of two forms cannot be compared."""

FINGERPRINT_PATTERN = r"^([0-9]{1,4}-)?[0-9a-f]{12}$"
_LENGTH = 12  # hexadecimal digits


def fingerprint(cell: str, verdict: Mapping[str, Any]) -> str:
    """Return the fingerprint of a run that is not as expected, or in which nothing was expected."""
    digest = hashlib.sha256(f"{cell}\n{shape(verdict)}".encode()).hexdigest()
    return f"{FORM}-{digest[:_LENGTH]}"


def is_of_older_form(known: str) -> bool:
    """Was a fingerprint made by an earlier version, so that no failure can have it now?"""
    form, dash, _ = known.rpartition("-")
    return not dash or int(form) < FORM


def shape(verdict: Mapping[str, Any]) -> str:
    """Return the shape of a run as text."""
    finding = primary(verdict)
    if finding:
        return shape_of(finding)
    expected = verdict["expected"]
    wanted = [] if expected == "valid" else [name for name in expected if not verdict["anomalies"].get(name)]
    return " ".join(["not found:", *wanted])

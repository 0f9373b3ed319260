"""Fingerprints: the shape of a failure, the same for every seed, time and client number.

A finding's shape is its anomaly and its sentence without what differs from run to run: quoted
values, numbers, and the names of resources and owners. A run's fingerprint is that of its first
finding by rank; with the cell, it tells one bug from another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from checkers.anomalies import RANK

_LENGTH = 12  # hexadecimal digits
_QUOTED = re.compile(r"'[^']*'")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def fingerprint(cell: str, verdict: Mapping[str, Any]) -> str:
    """Return the fingerprint of a run that is not as expected, or in which nothing was expected."""
    findings = verdict["findings"]
    if findings:
        shapes = sorted({(RANK[finding["anomaly"]], shape(finding)) for finding in findings})
        shown = shapes[0][1]
    else:
        shown = " ".join(shape_of_text(reason) for reason in verdict["reasons"])
    return hashlib.sha256(f"{cell}\n{shown}".encode()).hexdigest()[:_LENGTH]


def shape(finding: Mapping[str, Any]) -> str:
    """Return the shape of one finding of a verdict document."""
    resource = finding["resource"]
    summary = finding["summary"].replace(resource, "R") if resource else finding["summary"]
    return f"{finding['anomaly']}: {shape_of_text(summary)}"


def shape_of_text(text: str) -> str:
    """Leave out of a sentence what differs from run to run."""
    return _NUMBER.sub("N", _QUOTED.sub("V", text))

"""Fingerprints: the shape of a failure, the same for every seed, time and client number.

The shape of a finding is its anomaly, the rule that was broken, the roles of the operations that
prove it, and the kind of the fault that opened the window. The shape of a run is the shape of its
first finding by rank that follows from no other one; without findings, it is what had to be found.
Together with the cell, it distinguishes one bug from another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from checkers.anomalies import RANK

FORM = 2
"""Grows whenever the shape of a failure changes: fingerprints of two forms cannot be compared."""

FINGERPRINT_PATTERN = r"^([0-9]{1,4}-)?[0-9a-f]{12}$"
_LENGTH = 12  # hexadecimal digits

_Finding = Mapping[str, Any]


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
        return _shape(finding)
    expected = verdict["expected"]
    wanted = [] if expected == "valid" else [name for name in expected if not verdict["anomalies"].get(name)]
    return " ".join(["not found:", *wanted])


def primary(verdict: Mapping[str, Any]) -> _Finding | None:
    """Return the finding that a run is named after; None where it has none."""
    causes = first_causes(verdict["findings"])
    return min(causes, key=lambda each: (RANK[each["anomaly"]], _shape(each)), default=None)


def first_causes(findings: Sequence[_Finding]) -> list[_Finding]:
    """Return the findings that follow from no other one; all of them where each follows from another."""
    return [each for each in findings if not any(_follows(each, other) for other in findings)] or [*findings]


def _follows(finding: _Finding, other: _Finding) -> bool:
    """Does a finding name another one as its cause, or rest on the very operation that it accuses?"""
    cause = finding.get("caused_by")
    if cause and (cause["anomaly"], cause["operations"]) == (other["anomaly"], other["operations"]):
        return True
    return _rests_on(finding, other) and not _rests_on(other, finding)


def _rests_on(finding: _Finding, other: _Finding) -> bool:
    accused = other.get("accused", ())
    return bool(accused) and set(accused) <= set(finding.get("against", ()))


def _shape(finding: _Finding) -> str:
    accused, *against = finding.get("roles") or [""]
    parts = [f"{finding['anomaly']}: {finding.get('rule', '')}", accused, " and ".join(against)]
    return ", ".join(filter(None, [*parts, finding.get("fault")]))

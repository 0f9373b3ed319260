"""The first finding of a verdict: the one that a run is named after, its shape, and its fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from checkers.vocabulary.anomalies import RANK

Finding = Mapping[str, Any]
"""A finding as in verdict.json."""


def primary(verdict: Mapping[str, Any]) -> Finding | None:
    """Return the finding that a run is named after; None where it has none."""
    causes = first_causes(verdict["findings"])  # one whose cause is known comes before one like it without
    return min(
        causes, key=lambda each: (RANK[each["anomaly"]], not each.get("fault"), shape_of(each)), default=None
    )


def first_causes(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that follow from no other one; all of them where each follows from another."""
    return [each for each in findings if not any(_follows(each, other) for other in findings)] or [*findings]


def _follows(finding: Finding, other: Finding) -> bool:
    """Does a finding name another one as its cause, or rest on the very operation that it accuses?"""
    cause = finding.get("caused_by")
    if cause and (cause["anomaly"], cause["operations"]) == (other["anomaly"], other["operations"]):
        return True
    return _rests_on(finding, other) and not _rests_on(other, finding)


def _rests_on(finding: Finding, other: Finding) -> bool:
    accused = other.get("accused", ())
    return bool(accused) and set(accused) <= set(finding.get("against", ()))


_NEEDS_NO_FAULT = frozenset({"unfenced-write"})  # which only says that the write was also stale


def shape_of(finding: Finding) -> str:
    """Return the anomaly, the rule, the roles and the fault of a finding."""
    accused, *against = finding.get("roles") or [""]
    parts = [f"{finding['anomaly']}: {finding.get('rule', '')}", accused, " and ".join(against)]
    fault = "" if finding["anomaly"] in _NEEDS_NO_FAULT else finding.get("fault")
    return ", ".join(filter(None, [*parts, fault]))


FORM = 4
"""Grows whenever the shape of a failure changes: fingerprints of two forms cannot be compared."""

FINGERPRINT_PATTERN = r"^([0-9]{1,4}-)?[0-9a-f]{12}$"
_LENGTH = 12  # hexadecimal digits


def fingerprint(cell: str, verdict: Mapping[str, Any]) -> str:
    """Return the fingerprint of a run that is not as expected, or in which nothing was expected.

    It is the shape of a failure, the same for every seed, time and client number. The shape of a finding is
    its anomaly, the rule that was broken, the roles of the operations that prove it, and the kind of the
    fault that opened the window. The shape of a run is the shape of its first finding by rank that follows
    from no other one; without findings, it is what had to be found. Together with the cell, it
    distinguishes one bug from another.
    """
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

"""The first finding of a verdict: the one that a run is named after, and its shape as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.vocabulary.anomalies import RANK

Finding = Mapping[str, Any]
"""A finding as in verdict.json."""


def primary(verdict: Mapping[str, Any]) -> Finding | None:
    """Return the finding that a run is named after; None where it has none."""
    causes = first_causes(verdict["findings"])
    return min(causes, key=_place, default=None)


def _place(finding: Finding) -> tuple[int, bool, str]:
    """By rank; one whose cause is known comes before one like it without."""
    return RANK[finding["anomaly"]], not finding.get("fault"), shape_of(finding)


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

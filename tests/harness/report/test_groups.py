"""Findings of one name and one cause are one entry, however many they are."""

from __future__ import annotations

from checkers.vocabulary.document import FindingDocument, VerdictDocument
from harness.report.causes import Openings
from harness.report.groups import groups

MANY = 2_000


def test_many_findings_of_one_name_are_one_entry() -> None:
    findings = [
        FindingDocument(anomaly="stale-write", resource=f"r{number}", summary="", operations=[], steps=[])
        for number in range(MANY)
    ]
    document = VerdictDocument(
        verdict="invalid",
        as_expected=False,
        expected=[],
        reasons=[],
        anomalies={"stale-write": MANY},
        findings=findings,
        coverage={},
        checkers=[],
    )

    (group,) = groups(document, Openings(None))

    assert group.number == len(group.members) == len(group.resources) == MANY

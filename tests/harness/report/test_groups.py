"""Findings of one name and one cause are one entry, however many they are."""

from __future__ import annotations

from harness.report.causes import Openings
from harness.report.groups import explained, groups
from tests.support.verdicts import verdict_of

MANY = 2_000


def test_many_findings_of_one_name_are_one_entry() -> None:
    findings = [{"resource": f"r{number}"} for number in range(MANY)]
    document = verdict_of({"anomalies": {"stale-write": MANY}, "findings": findings})

    (group,) = groups(document, Openings(None))

    assert group.number == len(group.members) == len(group.resources) == MANY


def test_certain_findings_come_first_then_unexpected_ones_then_by_time() -> None:
    sure, fits = {"certain": True}, {"certain": False}

    def found(name: str, anomaly: str, line: int, cause: dict[str, bool] | None) -> dict[str, object]:
        return {"anomaly": anomaly, "resource": name, "accused": [line - 1, line], "cause": cause}

    document = verdict_of(
        {
            "expected": ["stale-write"],
            "findings": [
                found("probable, early", "stale-write", 10, fits),
                found("certain, late", "stale-write", 40, sure),
                found("certain, early", "stale-write", 20, sure),
                found("no cause, late", "lost-write", 60, None),
                found("no cause, early", "lost-write", 50, None),
            ],
            "counted": [found("counted", "late-write", 5, sure)],
        }
    )

    assert [each.resource for each in explained(document)] == [
        "certain, early",
        "certain, late",
        "no cause, early",
        "no cause, late",
        "probable, early",
        "counted",
    ]
    assert [each.anomaly for each in explained(document, ["lost-write"])][:2] == ["lost-write"] * 2

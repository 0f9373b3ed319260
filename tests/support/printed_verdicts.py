"""Verdict documents as the terminal prints them."""

from __future__ import annotations

from typing import Any

from checkers.vocabulary.reasons import Reason
from checkers.vocabulary.verdict import reasons_of
from harness.report.lines import WIDTH
from harness.report.verdict_text import JudgedRun, verdict_lines
from tests.support.paused_writer import STALE
from tests.support.verdicts import verdict_of


def document(
    verdict: str = "valid",
    *,
    expected: list[str] | str = "valid",
    as_expected: bool = True,
    reasons: list[Reason] | tuple[()] = (),
    findings: list[Any] | tuple[()] = (),
    **coverage: Any,
) -> dict[str, Any]:
    anomalies = {"stale-write": 0, "late-write": 4, "early-grant": 0}
    for finding in findings:
        anomalies[finding["anomaly"]] += 1
    return {
        "schema": 1,
        "verdict": verdict,
        "expected": expected,
        "as_expected": as_expected,
        **reasons_of(reasons),
        "anomalies": anomalies,
        "findings": list(findings),
        "coverage": {"grants": 1084} | coverage,
        "checkers": [],
    }


def printed(judged: dict[str, Any], *, verbose: bool = False, width: int = WIDTH, **run: Any) -> list[str]:
    shown = JudgedRun(target="t", document=verdict_of(judged), **run)
    return [str(line) for line in verdict_lines(shown, verbose=verbose, width=width)]


STALE_WRITES = document(
    "invalid",
    expected=["stale-write"],
    findings=[STALE, STALE],
    stale_writes_attempted=2,
    stale_writes_accepted=2,
)

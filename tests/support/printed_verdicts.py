"""Verdict documents as the terminal prints them, of a run in which a paused client overwrites newer data."""

from __future__ import annotations

from typing import Any

from checkers.history.records import FaultEvent, Header, History, Op
from checkers.vocabulary.reasons import Reason
from checkers.vocabulary.verdict import reasons_of
from harness.report.lines import WIDTH
from harness.report.verdict_text import JudgedRun, verdict_lines
from tests.support.brute_force import operation
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


SECOND = 1_000_000_000

STALE = {
    "anomaly": "stale-write",
    "resource": "r0",
    "summary": "client 1 overwrote r0 with token 33 after token 34 had been written",
    "operations": [2, 5, 7, 9],
    "steps": ["token 33 was granted to client 1", "token 34 was written", "token 33 was accepted after it"],
    "step_lines": [[2, 3], [6, 7], [8, 9]],
    "step_faults": [[], [], []],
    "accused": [8, 9],
    "against": [6, 7],
    "cause": {"certain": True, "fault": "pause", "target": "client:1", "faults": [10, 12]},
}


def paused_history() -> History:
    def op(
        index: int, process: int, f: str, called: int, token: int, lines: tuple[int, int], **rest: Any
    ) -> Op:
        learned = {"index": index, "token": token, "lines": lines, "learned": None}
        return operation(f, process, called, called + 1, **learned, **rest)

    def fault(time: Any, state: Any, owner: Any, line: int) -> FaultEvent:
        evidence = "status is stopped" if state == "in force" else "status is sleeping"
        return FaultEvent(
            time=time,
            kind="pause",
            target=f"client:{owner[0]}",
            state=state,
            evidence=evidence,
            owner=owner,
            line=line,
        )

    return History(
        header=Header(target="t"),
        started=SECOND,
        operations=(
            op(0, 1, "acquire", SECOND, 33, (2, 3), owner="1-1"),
            op(1, 2, "acquire", 3 * SECOND, 34, (4, 5), owner="2-1"),
            op(2, 2, "write", 4 * SECOND, 34, (6, 7)),
            op(3, 1, "write", 5 * SECOND, 33, (8, 9)),
        ),
        faults=(
            fault(SECOND + SECOND // 2, "in force", "1-1", 10),
            fault(2 * SECOND, "in force", "2-1", 11),
            fault(5 * SECOND, "healed", "1-1", 12),
        ),
    )


STALE_WRITES = document(
    "invalid",
    expected=["stale-write"],
    findings=[STALE, STALE],
    stale_writes_attempted=2,
    stale_writes_accepted=2,
)

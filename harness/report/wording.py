"""The words of a report: what a verdict means to somebody who has never run such a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checkers.anomalies import ANOMALIES, COVERAGE, RANK, VIOLATIONS
from checkers.history.reader import Op
from checkers.printable import shorten
from harness.report.scenes import REJECTED
from harness.report.sentences import capitalized

MEANINGS = {name: anomaly.definition for name, anomaly in ANOMALIES.items()} | {
    REJECTED: "A client that had lost the lock tried to write, and the fence turned it away.",
}
"""What each kind of scene means, in a sentence."""

_SAID = ("not exercised: ", "found ", "expected ")
"""How the reasons begin that the headline has said already."""


def doubts(verdict: Mapping[str, Any], said: str) -> list[str]:
    """The reasons that the headline does not say: crashed checkers, contradictions, proofs with a doubt."""
    reasons = [str(reason) for reason in verdict.get("reasons", ())]
    return [reason for reason in reasons if not reason.startswith(_SAID) and reason not in said]


def _found(verdict: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(str(finding.get("anomaly")) for finding in verdict.get("findings", ())))


def counted(verdict: Mapping[str, Any]) -> dict[str, int]:
    """What a run challenged, by name."""
    coverage = verdict.get("coverage")
    return dict(coverage) if isinstance(coverage, dict) else {}


def coverage(verdict: Mapping[str, Any]) -> list[tuple[str, str, str, Any]]:
    """Rows of the coverage table, in reading order: key, title, what it counts, how many."""
    counts = counted(verdict)
    order = [*(key for key in COVERAGE if key in counts), *(key for key in counts if key not in COVERAGE)]
    return [(key, title(key), COVERAGE.get(key, ""), counts[key]) for key in order]


@dataclass(frozen=True, slots=True)
class Looked:
    """An anomaly that was looked for."""

    name: str
    found: int
    violation: bool  # False: it is counted, and makes no run invalid


def anomalies(verdict: Mapping[str, Any]) -> list[Looked]:
    """Every anomaly that was looked for: violations that were found, what else was found, the rest."""
    found = verdict.get("anomalies")
    counts = found.items() if isinstance(found, dict) else ()
    told = _found(verdict)
    rows = [
        Looked(name, number, name in told or name not in ANOMALIES or (not number and name in VIOLATIONS))
        for name, number in counts
    ]
    return sorted(rows, key=_most_telling_first)


def _most_telling_first(row: Looked) -> tuple[bool, bool, int, int, str]:
    return not row.found, not row.violation, -row.found, RANK.get(row.name, len(RANK)), row.name


def title(name: str) -> str:
    """A machine's name for people: `late_writes` is "Late writes"."""
    return capitalized(name.replace("_", " ").replace("-", " "))


def action(operation: Op) -> str:
    """What a client asked for."""
    token = "" if operation.token is None else f" with token {operation.token}"
    match operation.f:
        case "write":
            return f"write {shorten(str(operation.value or ''))} to {shorten(operation.resource)}{token}"
        case "append":
            return f"append {shorten(str(operation.element))} to {shorten(operation.resource)}{token}"
        case "acquire":
            return f"acquire the lock of {shorten(operation.resource)}"
        case "read" | "fence":
            return f"{operation.f} {shorten(operation.resource)}"
        case f:
            return f"{f} the lock of {shorten(operation.resource)}{token}"


def answer(operation: Op) -> str:
    """What came of it, in words."""
    match operation.f, operation.outcome.value:
        case "acquire", "ok":
            return f"granted, token {operation.token}"
        case "write" | "append", "ok":
            return "accepted"
        case "read", "ok":
            token = "" if operation.token is None or operation.token < 0 else f", token {operation.token}"
            return f"{'nothing' if operation.value is None else shorten(str(operation.value))}{token}"
        case _, "ok":
            return "done"
        case _, "fail" if operation.error == "stale":
            return "rejected as stale"
        case _, "fail":
            return f"refused: {shorten(operation.error)}" if operation.error else "refused"
        case _:
            return f"unknown: {shorten(operation.error)}" if operation.error else "unknown: no answer"

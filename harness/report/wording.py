"""The words of a report: what a verdict means, for a reader who has never run such a test."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

from checkers.history.records import Op
from checkers.text.printable import shorten
from checkers.vocabulary.anomalies import ANOMALIES, RANK, VIOLATIONS
from checkers.vocabulary.counts import COVERAGE, OF_GRANTS, called, counted
from checkers.vocabulary.document import VerdictDocument
from checkers.vocabulary.reasons import NEVER_TESTED, ReasonKind
from harness.report.headline import RunAnswer
from harness.report.sentences import capitalized

MEANINGS = {name: anomaly.definition for name, anomaly in ANOMALIES.items()}
"""What each anomaly means, in a sentence."""

_SAID = NEVER_TESTED | {ReasonKind.UNEXPECTED}
"""The kinds of reasons that the headline and the findings say."""


def doubts(verdict: VerdictDocument, said: RunAnswer) -> list[str]:
    """The reasons that the headline does not say: crashed checkers, contradictions, proofs with a doubt."""
    if said.says_why:
        return []
    not_found = verdict.reasons_of(ReasonKind.NOT_FOUND)
    missed = {reason for reason in not_found if reason.arguments[0] in said.leads}
    return [str(each) for each in verdict.typed_reasons if each.kind not in _SAID and each not in missed]


def coverage(verdict: VerdictDocument, *, by_tokens: bool) -> list[SimpleNamespace]:
    """The rows of the coverage table, in reading order; `by_tokens`: does the lock give tokens?"""
    recorded = verdict.coverage
    has_grants = "executions" not in recorded or recorded.get("grants", 0)
    counts = {name: number for name, number in recorded.items() if has_grants or name not in OF_GRANTS}
    order = [*(key for key in COVERAGE if key in counts), *(key for key in counts if key not in COVERAGE)]
    return [
        SimpleNamespace(
            title=capitalized(called(key)), meaning=counted(key, by_tokens=by_tokens), number=counts[key]
        )
        for key in order
    ]


def anomalies(verdict: VerdictDocument, lacking: Mapping[str, str]) -> list[SimpleNamespace]:
    """Every anomaly checked: violations, other findings, the rest; `lacking`: what a run did not have."""
    found = verdict.violations
    rows = [
        SimpleNamespace(
            name=name,
            found=number,
            violation=name in found or name not in ANOMALIES or (not number and name in VIOLATIONS),
            lacking="" if number else lacking.get(name, ""),
        )
        for name, number in verdict.anomalies.items()
    ]
    rank = {name: RANK.get(name, len(RANK)) for name in verdict.anomalies}
    return sorted(
        rows, key=lambda row: (not row.found, not row.violation, -row.found, rank[row.name], row.name)
    )


def action(operation: Op) -> str:
    """What a client requested."""
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
        case "submit" | "take" | "execute" | "heartbeat":
            return _asked_of_queue(operation)
        case f:
            return f"{f} the lock of {shorten(operation.resource)}{token}"


def _asked_of_queue(operation: Op) -> str:
    job, queue = shorten(operation.job or ""), shorten(operation.resource)
    attempt = "" if operation.token is None else f", attempt {operation.token}"
    return {
        "submit": f"submit {job} to {queue}",
        "take": f"ask {queue} for a job",
        "execute": f"execute {job} of {queue}{attempt}",
        "heartbeat": f"say that an execution of {queue} is in progress",
    }[operation.f]


def answer(operation: Op) -> str:
    """The result in words."""
    match operation.f, operation.outcome.value:
        case "acquire", "ok":
            return "granted" if operation.token is None else f"granted, token {operation.token}"
        case "write" | "append" | "submit", "ok":
            return "accepted"
        case "take" | "execute", "ok":
            return (
                f"got {shorten(operation.job or '')}" if operation.f == "take" else "its end was acknowledged"
            )
        case "read", "ok":
            token = "" if operation.token is None or operation.token < 0 else f", token {operation.token}"
            return f"{'nothing' if operation.value is None else shorten(str(operation.value))}{token}"
        case _, "ok":
            return "done"
        case _, "fail" if operation.error == "stale":
            return "refused as stale"
        case _, "fail":
            return f"refused: {shorten(operation.error)}" if operation.error else "refused"
        case _:
            return f"unknown: {shorten(operation.error)}" if operation.error else "unknown: no answer"

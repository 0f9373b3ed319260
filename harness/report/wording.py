"""The words of a report: what a verdict means to somebody who has never run such a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from checkers.anomalies import ANOMALIES, COVERAGE, RANK, VIOLATIONS
from checkers.history import Op
from checkers.printable import shorten
from harness.report.scenes import REJECTED

Tone = Literal["good", "bad", "unsure"]


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict in words: one to shout, one to explain, and whether to be glad."""

    tone: Tone
    verdict: str
    expectation: str
    lead: str


MEANINGS = {name: anomaly.definition for name, anomaly in ANOMALIES.items()} | {
    REJECTED: "A client that had lost the lock tried to write, and the fence turned it away.",
}
"""What each kind of scene means, in a sentence."""

LEADS = ("stale_writes_attempted", "stale_writes_rejected", "stale_writes_accepted", "pauses_past_lease")


def headline(verdict: Mapping[str, Any]) -> Headline:
    """Say what the verdict is, whether it was expected, and what that means."""
    word = str(verdict.get("verdict", "unknown"))
    expected = bool(verdict.get("as_expected"))
    match word:
        case "invalid":
            return _invalid(verdict, expected=expected)
        case "valid":
            return _valid(verdict, expected=expected)
        case _:
            return _unknown(verdict)


def _invalid(verdict: Mapping[str, Any], *, expected: bool) -> Headline:
    found = _names(_found(verdict))
    if expected:
        lead = (
            "Invalid means that a violation was found. This target is meant to fail: it has to show "
            f"{_names(_expectation(verdict)) or found}, and it did. Finding it is this run's success: "
            "a test that finds what is there can be believed where it finds nothing."
        )
        return Headline("good", "INVALID", "as expected", lead)
    wanted = _expectation(verdict)
    promise = f"It was expected to show {_names(wanted)}" if wanted else "It was expected to hold"
    lead = f"This run broke what the target promises. {promise}; it showed {found or 'a violation'}."
    return Headline("bad", "INVALID", "not expected", lead)


def _valid(verdict: Mapping[str, Any], *, expected: bool) -> Headline:
    attempted = counted(verdict).get("stale_writes_attempted", 0)
    rejected = counted(verdict).get("stale_writes_rejected", 0)
    if not expected:
        lead = (
            f"Nothing wrong was found, but this target has to show {_names(_expectation(verdict))}. "
            "A test that cannot find a planted fault proves nothing about the others."
        )
        return Headline("bad", "VALID", "not expected", lead)
    if not attempted:
        return Headline("good", "VALID", "as expected", "Nothing wrong was found.")
    every = "every one" if rejected == attempted else f"{rejected} of them"
    lead = (
        f"Stale writers were kept out. {_count(attempted, 'stale write was', 'stale writes were')} "
        f"attempted, and the storage rejected {every if attempted > 1 else 'it'}."
    )
    return Headline("good", "VALID", "as expected", lead)


def _unknown(verdict: Mapping[str, Any]) -> Headline:
    reasons = [str(reason) for reason in verdict.get("reasons", ())]
    if any("not exercised" in reason for reason in reasons):
        lead = (
            "The fence was not put to the test hard enough, so this run proves nothing about it. "
            "That is not a pass: a storage with no fence at all would have looked just the same."
        )
        return Headline("unsure", "UNKNOWN", "not exercised", lead)
    lead = "The run could not be judged, and that is not a pass."
    return Headline("unsure", "UNKNOWN", "undecided", lead)


def _expectation(verdict: Mapping[str, Any]) -> list[str]:
    expected = verdict.get("expected", "valid")
    return [str(name) for name in expected] if isinstance(expected, list) else []


def _found(verdict: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(str(finding.get("anomaly")) for finding in verdict.get("findings", ())))


def counted(verdict: Mapping[str, Any]) -> dict[str, int]:
    """What a run challenged, by name."""
    coverage = verdict.get("coverage")
    return dict(coverage) if isinstance(coverage, dict) else {}


def _names(names: Sequence[str]) -> str:
    return ", ".join(names)


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


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
    words = name.replace("_", " ").replace("-", " ")
    return words[:1].upper() + words[1:]


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
            token = "" if operation.token is None else f", token {operation.token}"
            return f"{'nothing' if operation.value is None else shorten(str(operation.value))}{token}"
        case _, "ok":
            return "done"
        case _, "fail" if operation.error == "stale":
            return "rejected as stale"
        case _, "fail":
            return f"refused: {shorten(operation.error)}" if operation.error else "refused"
        case _:
            return f"unknown: {shorten(operation.error)}" if operation.error else "unknown: no answer"

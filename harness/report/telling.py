"""A verdict as lines of text, the same for a terminal, a log and whoever else prints it."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkers.anomalies import ANOMALIES
from checkers.history import History
from harness.invocation import again, typed
from harness.report.window import opened_by

MOST_FINDINGS = 3  # told in full; the report has the others


class Tone(enum.StrEnum):
    """What a line is, for those who colour it."""

    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"
    PLAIN = "plain"
    FAINT = "faint"
    COMMAND = "command"  # to be copied: never wrapped


@dataclass(frozen=True, slots=True)
class Line:
    """One line, without its end."""

    text: str
    tone: Tone = Tone.PLAIN
    indent: int = 0  # columns; what is wrapped keeps it


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """One judged run, and where its files are; None for what there is not."""

    target: str
    document: Mapping[str, Any]  # verdict.json
    history: History | None = None  # names the fault behind each finding
    folder: Path | None = None
    report: Path | None = None
    seed: int | None = None
    options: tuple[str, ...] = ()  # that a repetition needs beside target and seed
    interrupted: bool = False

    @property
    def tone(self) -> Tone:
        """Is the verdict what it should be?"""
        if self.document["as_expected"]:
            return Tone.GOOD
        return Tone.UNSURE if self.document["verdict"] == "unknown" else Tone.BAD


def tell(run: Telling) -> Iterator[Line]:
    """Tell a run's verdict: what it is, what proves it, and what to do next."""
    yield Line(headline(run), run.tone)
    yield from _because(run.document)
    yield from _findings(run.document, run.history)
    yield from _nobodys_fault(run.document)
    yield Line(counted(run.document["coverage"]), Tone.FAINT, 2)
    yield from _next_steps(run)


def summary(runs: Sequence[Telling], names: Sequence[str]) -> Iterator[Line]:
    """Tell several runs, a line each; of `names`, in their order, some may have no verdict."""
    judged = {run.target: run for run in runs}
    widest = max(map(len, names), default=0)
    for name in names:
        if run := judged.get(name):
            expected = "as expected" if run.document["as_expected"] else "NOT as expected"
            verdict = f"{run.document['verdict']:<7}  {expected:<15}  {_in_short(run.document)}"
            yield Line(f"{name:<{widest}}  {verdict}", run.tone, 2)
        else:
            yield Line(f"{name:<{widest}}  no verdict", Tone.UNSURE, 2)


def headline(run: Telling) -> str:
    """Say the verdict in one line."""
    document = run.document
    cut = " (interrupted: judged as far as it got)" if run.interrupted else ""
    found = violations(document)
    why = "; ".join(document["reasons"])
    match document["verdict"], bool(document["as_expected"]):
        case "valid", True if document["expected"] != "valid":  # what had to be found is nobody's fault
            said = f"as expected: found {times(looked_for(document))}"
        case "valid", True:
            said = f"VALID: {fence(document['coverage'])}"
        case "invalid", True:
            said = f"INVALID, as expected: found {times(found)}"
        case "unknown", _:
            said = f"UNKNOWN: {why or 'undecided'}"
        case _:
            said = f"{'VIOLATION' if found else 'NOT AS EXPECTED'}: {why or times(found)}"
    return f"{run.target}: {said}{cut}"


def fence(coverage: Mapping[str, int]) -> str:
    """Say what the fence did with stale writes."""
    attempted = coverage.get("stale_writes_attempted", 0)
    accepted = coverage.get("stale_writes_accepted", 0)
    rejected = coverage.get("stale_writes_rejected", 0)
    if not attempted:
        return "stale writes were not asked for, and none was attempted"
    if rejected == attempted:
        every = f"all {rejected}" if rejected > 1 else "and"
        return f"{_count(attempted, 'stale write')} attempted, {every} rejected"
    unknown = attempted - accepted - rejected
    parts = [f"{accepted} accepted"] * bool(accepted) + [f"{rejected} rejected"]
    parts += [f"{unknown} of unknown outcome"] * (unknown > 0)
    return f"{_count(attempted, 'stale write')} attempted: {', '.join(parts)}"


def counted(coverage: Mapping[str, int]) -> str:
    """Say how hard the run tried."""
    return " · ".join(f"{name.replace('_', ' ')} {number:,}" for name, number in coverage.items())


def _because(document: Mapping[str, Any]) -> Iterator[Line]:
    if document["verdict"] == "unknown":
        if any("not exercised" in reason for reason in document["reasons"]):
            yield Line(
                "The run did not challenge the fence, so it says nothing about it: not a pass.", indent=2
            )
    elif document["verdict"] == "invalid":
        if document["coverage"].get("stale_writes_attempted"):
            yield Line(fence(document["coverage"]), indent=2)
        if document["as_expected"]:  # else the headline has the reasons
            yield from (Line(reason, indent=2) for reason in document["reasons"])


def _findings(document: Mapping[str, Any], history: History | None) -> Iterator[Line]:
    """Tell the first finding of each anomaly; what was not expected comes first."""
    expected = _expected(document)
    first = {finding["anomaly"]: finding for finding in reversed(document["findings"])}
    order = sorted(first, key=lambda name: (name in expected, list(violations(document)).index(name)))
    for name in order[:MOST_FINDINGS]:
        yield from _finding(first[name], history)
    more = len(document["findings"]) - min(len(first), MOST_FINDINGS)
    if more:
        yield Line(f"{_count(more, 'more finding')} in the report", Tone.FAINT, 2)
    if first:
        yield Line("line numbers are those of the history", Tone.FAINT, 2)


def _nobodys_fault(document: Mapping[str, Any]) -> Iterator[Line]:
    if found := _counted(document):
        yield Line(f"counted, nobody's fault: {times(found)}", Tone.FAINT, 2)


def _finding(finding: Mapping[str, Any], history: History | None) -> Iterator[Line]:
    yield from proof(finding)
    if fault := history and opened_by(finding, history):
        yield Line(f"What opened the window: {fault}", indent=4)
    yield Line("")


def proof(finding: Mapping[str, Any]) -> Iterator[Line]:
    """Tell one finding: a sentence, what its name means, and why it is so, step by step."""
    yield Line("")
    yield Line(finding["summary"], Tone.BAD, 2)
    if meaning := ANOMALIES.get(finding["anomaly"]):
        yield Line(f"{meaning.name}: {meaning.definition}", Tone.FAINT, 4)
    for number, step in enumerate(finding["steps"], start=1):
        yield Line(f"{number}. {step}", indent=4)


def _next_steps(run: Telling) -> Iterator[Line]:
    if not run.folder:
        return
    yield Line(f"run folder   {run.folder}", Tone.COMMAND, 2)
    if run.report:
        yield Line(f"report       {run.report}", Tone.COMMAND, 2)
    yield Line(f"check again  {typed('recheck', run.folder)}", Tone.COMMAND, 2)
    if run.report:
        yield Line(f"look         {typed('show', run.folder)}", Tone.COMMAND, 2)
    if run.seed is not None:
        repeated = again(run.folder / "target.toml", run.seed, run.options)
        yield Line(f"run again    {repeated}", Tone.COMMAND, 2)


def _in_short(document: Mapping[str, Any]) -> str:
    found = violations(document)
    if document["verdict"] == "unknown":
        return "; ".join(document["reasons"])
    return times(found or looked_for(document)) or fence(document["coverage"])


def violations(document: Mapping[str, Any]) -> dict[str, int]:
    """Count the violations; what is only counted (a late write, what it lost) makes no run invalid."""
    return dict(Counter(finding["anomaly"] for finding in document["findings"]))


def _counted(document: Mapping[str, Any]) -> dict[str, int]:
    """Count what was found and makes no run invalid."""
    found = violations(document)
    rest = {name: number - found.get(name, 0) for name, number in document["anomalies"].items()}
    return {name: number for name, number in rest.items() if number > 0}


def looked_for(document: Mapping[str, Any]) -> dict[str, int]:
    """Count what had to be found, and was nobody's fault."""
    return {name: number for name, number in _counted(document).items() if name in _expected(document)}


def _expected(document: Mapping[str, Any]) -> list[str]:
    return [] if document["expected"] == "valid" else list(document["expected"])


def times(found: Mapping[str, int]) -> str:
    """Write counts of anomalies: "stale-write ×3"."""
    return ", ".join(f"{name} ×{number}" for name, number in found.items())


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"

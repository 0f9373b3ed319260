"""A verdict as lines of text, the same on a terminal and in a log."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checkers.history.reader import History
from checkers.text.printable import message
from checkers.vocabulary.document import FindingDocument, HazardsDocument, VerdictDocument
from checkers.vocabulary.hazards import summary as summary_of_hazards
from checkers.vocabulary.rule_words import described
from harness.core.invocation import NOTHING_ELSE, Repetition, typed, typed_anywhere
from harness.report.answer import answer, times
from harness.report.causes import NO_CAUSE, Openings
from harness.report.groups import Group, explained, groups
from harness.report.headline import Answer
from harness.report.headline import Tone as AnswerTone
from harness.report.run_again import run_folder_again
from harness.report.sentences import capitalized, count
from harness.report.stale_write_counts import refused, why_findings_differ
from harness.report.wording import doubts

MOST_FINDINGS = 3  # shown in full; the report has the others


class Tone(enum.StrEnum):
    """The kind of a line, which decides its color."""

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
    indent: int = 0  # columns; wrapped lines keep it

    def __str__(self) -> str:
        return " " * self.indent + self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """One judged run, and where its files are; None for each that does not exist."""

    target: str
    document: VerdictDocument
    history: History | None = None  # names the fault behind each finding
    folder: Path | None = None
    report: Path | None = None
    seed: int | None = None
    repetition: Repetition = NOTHING_ELSE
    interrupted: bool = False


_TONES = {
    AnswerTone.GOOD: Tone.GOOD,
    AnswerTone.BAD: Tone.BAD,
    AnswerTone.UNSURE: Tone.UNSURE,
    AnswerTone.NEUTRAL: Tone.PLAIN,
}


def verdict_lines(run: JudgedRun, *, brief: bool = False) -> Iterator[Line]:
    """A run's verdict: what it is, what proves it, and what to do next; `brief`: by one finding alone."""
    said = answer(run.document, run.target, run.history)
    yield Line(f"{run.target}: {said.headline}", _TONES[said.tone])
    yield Line(_verdict(run, said), indent=2)
    yield from _stale_writes(run.document, said)
    terms = f" ({capitalized(said.terms)}.)" if said.terms else ""
    yield Line(f"Why it matters: {said.matters}{terms}", indent=2)
    correct = f" Correct example: {said.twin.stem}." if said.twin else ""
    yield Line(f"What to do: {said.remedy}{correct}", indent=2)
    yield from (_first_finding if brief else _findings)(run.document, run.history, said.leads)
    yield from _also_seen(run.document)
    yield Line(counted(run.document.coverage), Tone.FAINT, 2)
    yield from _hazards(run.document.hazards)
    yield from (Line(str(windows), Tone.FAINT, 2) for windows in run.document.windows)
    yield from _next_steps(run)


def explanation(run: JudgedRun) -> str:
    """The same lines as one text, for the results of tests."""
    return message(*map(str, verdict_lines(run)))


def explained_briefly(run: JudgedRun) -> list[str]:
    """The lines without colors, and one finding alone."""
    return [str(line) for line in verdict_lines(run, brief=True)]


def summary(runs: Sequence[JudgedRun], names: Sequence[str]) -> Iterator[Line]:
    """Several runs, one line each, in the order of `names`; some may have no verdict."""
    judged = {run.target: run for run in runs}
    widest = max(map(len, names), default=0)
    for name in names:
        if run := judged.get(name):
            expected = "as expected" if run.document.as_expected else "NOT as expected"
            said = answer(run.document, run.target, run.history)
            verdict = f"{run.document.verdict:<7}  {expected:<15}  {said.headline}"
            yield Line(f"{name:<{widest}}  {verdict}", _TONES[said.tone], 2)
        else:
            yield Line(f"{name:<{widest}}  no verdict", Tone.UNSURE, 2)


def _verdict(run: JudgedRun, said: Answer) -> str:
    """The verdict in its own words, and the reasons that the headline does not say."""
    found = times(found_in(run.document))
    cut = said.interrupted or ("interrupted: judged as far as it got" if run.interrupted else "")
    if capitalized(cut) == said.label:
        cut = ""
    reasons = [] if said.says_why else run.document.reasons
    if run.document.verdict == "invalid":
        reasons = doubts(run.document, said)
    return "; ".join(filter(None, [said.verdict, found, *reasons, cut]))


def _stale_writes(document: VerdictDocument, said: Answer) -> Iterator[Line]:
    """The outcomes of the stale writes, if the headline is about something else."""
    counts = document.coverage
    if counts.get("stale_writes_attempted") and not said.says_refused:
        yield Line(f"{refused(counts)}{why_findings_differ(document)}", indent=2)


def counted(coverage: Mapping[str, int]) -> str:
    """How hard the run tried, without zero counts."""
    some = [f"{name.replace('_', ' ')} {number:,}" for name, number in coverage.items() if number]
    return " · ".join(some) or "coverage: every count is zero"


def _hazards(seen: HazardsDocument | None) -> Iterator[Line]:
    if seen and seen.possible:
        yield Line(summary_of_hazards(seen.possible, seen.missed, seen.untried), Tone.FAINT, 2)


def _findings(document: VerdictDocument, history: History | None, leads: Sequence[str]) -> Iterator[Line]:
    """The first finding of each cause, starting with the headline's."""
    openings = Openings(history)
    found = groups(document, openings, leads)
    findings = explained(document, leads)
    for number, group in enumerate(found[:MOST_FINDINGS]):
        yield from _finding(findings[group.members[0]], openings, history)
        if number == 0 and not group.counted:
            yield from _without_cause(findings[group.members[0]], openings)
        if group.number > 1:
            yield Line(f"{count(group.number - 1, 'more finding')} of this kind in the report", Tone.FAINT, 4)
    for group in found[MOST_FINDINGS:]:
        yield Line(f"also {group.anomaly} ×{group.number:,}{_because(group)}", Tone.FAINT, 2)
    if found:
        yield from _LINE_NUMBERS


def _first_finding(
    document: VerdictDocument, history: History | None, leads: Sequence[str]
) -> Iterator[Line]:
    """The headline's finding; the causes of all findings would take much longer to find."""
    findings = explained(document, leads)
    if findings:
        openings = Openings(history)
        yield from _finding(findings[0], openings, history)
        if any(findings[0] is violation for violation in document.findings):
            yield from _without_cause(findings[0], openings)
        if more := len(findings) - 1:
            yield Line(f"{count(more, 'more finding')} in the report", Tone.FAINT, 4)
        yield from _LINE_NUMBERS


_LINE_NUMBERS = (Line(""), Line("line numbers refer to history.jsonl", Tone.FAINT, 2))


def _because(group: Group) -> str:
    return f" ({group.cause})" if group.cause else ""


def _also_seen(document: VerdictDocument) -> Iterator[Line]:
    explained_here = {finding.anomaly for finding in document.counted}
    rest = {name: number for name, number in _counted(document).items() if name not in explained_here}
    if rest:
        yield Line(f"also seen, not violations: {times(rest)}", Tone.FAINT, 2)


def _finding(finding: FindingDocument, openings: Openings, history: History | None) -> Iterator[Line]:
    yield from proof(finding)
    opening = openings.of(finding)
    if opening and history:
        for title, sentence in opening.in_words(history.started, history.header.clients):
            yield Line(f"{title}: {sentence}", indent=4)


def _without_cause(finding: FindingDocument, openings: Openings) -> Iterator[Line]:
    if openings.is_unexplained(finding):
        title, sentence = NO_CAUSE
        yield Line(f"{title}: {sentence}", indent=4)


def proof(finding: FindingDocument) -> Iterator[Line]:
    """One finding: a sentence, what its name means, its story, and why it is true, step by step."""
    yield Line("")
    yield Line(capitalized(finding.summary, finding.resource), Tone.BAD, 2)
    if meaning := described(finding.anomaly, finding.rule):
        yield Line(f"{meaning.name}: {meaning.definition}", Tone.FAINT, 4)
    if finding.story:
        yield Line(" ".join(finding.story), indent=4)
    for number, step in enumerate(finding.steps, start=1):
        yield Line(f"{number}. {step}", indent=4)


def _next_steps(run: JudgedRun) -> Iterator[Line]:
    if not run.folder:
        return
    yield Line(f"run folder   {run.folder}", Tone.COMMAND, 2)
    if run.report:
        yield Line(f"report       {run.report}", Tone.COMMAND, 2)
    command = typed_anywhere if run.folder.is_absolute() else typed
    yield Line(f"check again  {command('recheck', run.folder)}", Tone.COMMAND, 2)
    if run.report:
        yield Line(f"look         {command('show', run.folder)}", Tone.COMMAND, 2)
    if run.seed is not None:
        repeated = run_folder_again(run.folder, run.seed, run.repetition)
        yield Line(f"run again    {repeated.command}", Tone.COMMAND, 2)
        yield from (Line(note, Tone.COMMAND, 15) for note in repeated.notes())


def found_in(document: VerdictDocument) -> dict[str, int]:
    """Count the violations, and the expected anomalies that are not violations."""
    counted = _counted(document).items()
    return dict(document.violations) | {name: number for name, number in counted if name in document.named}


def _counted(document: VerdictDocument) -> dict[str, int]:
    """Count the anomalies that make no run invalid, such as late writes."""
    found = document.violations
    rest = {name: number - found[name] for name, number in document.anomalies.items()}
    return {name: number for name, number in rest.items() if number > 0}

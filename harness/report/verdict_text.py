"""A verdict as lines of text, the same on a terminal and in a log.

What happened, why, what to do, and how hard it was tried: at most fourteen lines, and one more for
everything else that was found. An unexpected violation also has its proof: in CI, the log is
often all there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checkers.history.records import History
from checkers.text.printable import LONGEST
from checkers.vocabulary.anomalies import ANOMALIES
from checkers.vocabulary.counts import called
from checkers.vocabulary.document import CheckerDocument, FindingDocument, VerdictDocument
from checkers.vocabulary.hazards import summary, untriable
from checkers.vocabulary.rule_words import described
from harness.core.invocation import NOTHING_ELSE, Repetition, typed, typed_anywhere
from harness.core.paths import is_file
from harness.files import run_files
from harness.files.environment import repetition_in
from harness.report.answer import answer, times
from harness.report.causes import Openings
from harness.report.effort import effort, why_findings_differ
from harness.report.groups import explained, groups
from harness.report.headline import RunAnswer, Tone
from harness.report.lines import WIDTH, LineTone, StyledLine, wrapped
from harness.report.run_again import run_folder_again
from harness.report.sentences import capitalized, count
from harness.report.wording import doubts

_ALWAYS_SEEN = "double-belief"  # no lease can prevent it


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """One judged run, and its folder, if it has one."""

    target: str
    document: VerdictDocument
    history: History | None = None  # names the fault behind each finding
    folder: Path | None = None
    has_report: bool = False
    seed: int | None = None  # with which the target in the folder can be run again
    repetition: Repetition = NOTHING_ELSE
    interrupted: bool = False

    @classmethod
    def of(cls, path: Path, document: VerdictDocument, history: History) -> JudgedRun:
        """Return what was judged in a run's folder, whose path is printed as it is, or in a history file."""
        return cls(
            target=history.header.target,
            document=document,
            history=history,
            folder=path if path.is_dir() else None,
            has_report=is_file(path / run_files.REPORT),
            seed=history.header.seed if run_files.has(path, run_files.TARGET) else None,
            repetition=repetition_in(path),
        )


_TONES = {
    Tone.GOOD: LineTone.GOOD,
    Tone.BAD: LineTone.BAD,
    Tone.UNSURE: LineTone.UNSURE,
    Tone.NEUTRAL: LineTone.PLAIN,
}


def verdict_lines(run: JudgedRun, *, verbose: bool = False, width: int = WIDTH) -> Iterator[StyledLine]:
    """A run's verdict, what led to it, and what to do next; `verbose`: also all that it rests on."""
    proved = verbose or not run.document.as_expected
    return wrapped(_lines(run, proved=proved, verbose=verbose), width)


def explanation(run: JudgedRun) -> list[str]:
    """The same for the result of a test: always with the proof, and with the notices."""
    notices = (StyledLine(f"note: {notice}") for notice in run.document.notices)
    return [str(line) for line in wrapped([*_lines(run, proved=True, verbose=False), *notices])]


def headline(run: JudgedRun) -> StyledLine:
    """What was run, and what happened."""
    return _headline(run.target, answer(run.document, run.target, run.history))


def table(runs: Sequence[JudgedRun], names: Sequence[str]) -> Iterator[StyledLine]:
    """Several runs, one line each, in the order of `names`; some may have no verdict."""
    judged = {run.target: run for run in runs}
    widest = max(map(len, names), default=0)
    for name in names:
        if run := judged.get(name):
            yield _headline(f"{name:<{widest}}", answer(run.document, name, run.history))
        else:
            yield StyledLine(f"{name:<{widest}}  No verdict", LineTone.UNSURE)


def found_in(document: VerdictDocument) -> dict[str, int]:
    """Count the violations, and the expected anomalies that are not violations."""
    counted = _counted(document).items()
    return dict(document.violations) | {name: number for name, number in counted if name in document.named}


def _headline(name: str, said: RunAnswer) -> StyledLine:
    return StyledLine(f"{name}  {said.headline}", _TONES[said.tone])


def _lines(run: JudgedRun, *, proved: bool, verbose: bool) -> Iterator[StyledLine]:
    document = run.document
    said = answer(document, run.target, run.history)
    yield _headline(run.target, said)
    if leading := next(iter(explained(document, said.leads)), None):
        yield from _leading(leading, run, proved=proved)
    else:
        terms = f" ({capitalized(said.terms)}.)" if said.terms else ""
        yield StyledLine(f"{said.matters}{terms}", indent=2)
    correct = f" Correct example: {said.twin.stem}." if said.twin else ""
    yield StyledLine(f"What to do: {said.remedy}{correct}", indent=2)
    yield StyledLine(f"{capitalized(effort(document))}{why_findings_differ(document)}.", indent=2)
    yield from _further(run, said, verbose=verbose)
    if verbose:
        yield from details(document, run.history, said)
    yield from _next_steps(run)


def _leading(finding: FindingDocument, run: JudgedRun, *, proved: bool) -> Iterator[StyledLine]:
    """The finding that a run is about."""
    yield story(finding)
    openings = Openings(run.history)
    if proved:
        yield from proof(finding)
        yield StyledLine("Line numbers are those of the history.", LineTone.FAINT, 4)
        yield from causes(finding, openings)
    else:
        yield from causes(finding, openings, evidence=0)[:1]


def _further(run: JudgedRun, said: RunAnswer, *, verbose: bool) -> Iterator[StyledLine]:
    """Everything else that was found, or that is missing, a line each."""
    document = run.document
    yield from (_also(name, number) for name, number in document.violations.items() if name not in said.leads)
    for name, number in _counted(document).items():
        if name not in said.leads and (verbose or name != _ALWAYS_SEEN):
            yield _also(name, number, " (no violation)")
    yield from (StyledLine(f"{capitalized(reason)}.", indent=2) for reason in doubts(document, said))
    cut = said.interrupted or ("interrupted" if run.interrupted else "")
    if cut and capitalized(cut) != said.label:
        yield StyledLine(f"{capitalized(cut)}: judged as far as it got.", indent=2)


def _also(name: str, number: int, note: str = "") -> StyledLine:
    known = ANOMALIES.get(name)
    what = f"{name}{note}: {known.happened(number)}" if known else f"{times({name: number})}{note}"
    return StyledLine(f"Also {what}.", indent=2)


def _counted(document: VerdictDocument) -> dict[str, int]:
    """Count the anomalies that make no run invalid, such as late writes."""
    found = document.violations
    rest = {name: number - found[name] for name, number in document.anomalies.items()}
    return {name: number for name, number in rest.items() if number > 0}


def _next_steps(run: JudgedRun) -> Iterator[StyledLine]:
    if not run.folder:
        return
    yield StyledLine(f"run folder   {run.folder}", LineTone.COMMAND, 2)
    command = typed_anywhere if run.folder.is_absolute() else typed
    if run.has_report:
        yield StyledLine(f"open         {command('show', run.folder)}", LineTone.COMMAND, 2)
    yield StyledLine(f"judge again  {command('recheck', run.folder)}", LineTone.COMMAND, 2)
    if run.seed is not None:
        repeated = run_folder_again(run.folder, run.seed, run.repetition)
        yield StyledLine(f"run again    {repeated.command}", LineTone.COMMAND, 2)
        yield from (StyledLine(note, LineTone.COMMAND, 15) for note in repeated.notes())


def story(finding: FindingDocument) -> StyledLine:
    """What happened, in the order of time; where no story is known, what is wrong."""
    return StyledLine(" ".join(finding.story) or f"{_summary(finding)}.", indent=2)


def proof(finding: FindingDocument) -> Iterator[StyledLine]:
    """What is wrong, what its name means, and why it is true, step by step; the story comes before."""
    if finding.story:
        yield StyledLine(_summary(finding), LineTone.BAD, 4)
    if meaning := described(finding.anomaly, finding.rule):
        yield StyledLine(f"{meaning.name}: {meaning.definition}", LineTone.FAINT, 4)
    for number, step in enumerate(finding.steps, start=1):
        yield StyledLine(f"{number}. {step}", indent=4)


def _summary(finding: FindingDocument) -> str:
    return capitalized(finding.summary, finding.resource)


def causes(finding: FindingDocument, openings: Openings, evidence: int = LONGEST) -> list[StyledLine]:
    """The fault or the late call that led to it, and the other faults in force then, with evidence."""
    known = openings.in_words(finding, evidence)
    return [StyledLine(f"{title}: {sentence}.", indent=2) for title, sentence in known]


def details(document: VerdictDocument, history: History | None, said: RunAnswer) -> Iterator[StyledLine]:
    """The first finding of each further cause, and how the run was judged."""
    yield from _findings(document, history, said.leads)
    yield StyledLine("")
    yield StyledLine(said.verdict, indent=2)
    yield StyledLine(counted(document.coverage), LineTone.FAINT, 2)
    seen = document.hazards
    if seen and seen.possible:
        tried = summary(seen.possible, seen.missed, seen.untried, shown=len(seen.missed))
        yield StyledLine(tried, LineTone.FAINT, 2)
    if seen and seen.unreached:
        yield StyledLine(untriable(seen.unreached), LineTone.FAINT, 2)
    yield from (StyledLine(str(windows), LineTone.FAINT, 2) for windows in document.windows)
    yield from _checkers(document.checkers)


def counted(coverage: Mapping[str, int]) -> str:
    """What the run counted, without zero counts."""
    some = [f"{called(name)} {number:,}" for name, number in coverage.items() if number]
    return " · ".join(some) or "coverage: every count is zero"


def _findings(
    document: VerdictDocument, history: History | None, leads: Sequence[str]
) -> Iterator[StyledLine]:
    openings = Openings(history)
    findings = explained(document, leads)
    for number, group in enumerate(groups(document, openings, leads)):
        first = findings[group.members[0]]
        if number:  # the first one is proved above
            yield from (StyledLine(""), story(first), *proof(first))
            yield from causes(first, openings)
        if group.number > 1:
            more = count(group.number - 1, "more finding")
            yield StyledLine(f"{more} of {group.anomaly} in the report", LineTone.FAINT, 4)


def _checkers(checkers: Sequence[CheckerDocument]) -> Iterator[StyledLine]:
    widest = max((len(each.name) for each in checkers), default=0)
    for each in checkers:
        row = f"{each.name:<{widest}}  {each.verdict:<7}  {each.evidence:<9}  {each.seconds:.3f} s"
        yield StyledLine(row, LineTone.FAINT, 2)

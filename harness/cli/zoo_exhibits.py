"""The zoo: planted bugs, each with its correct twin. Is the bug caught, and the twin cleared?

A bug is a target file in `targets/zoo` that expects an anomaly. Its twin `<bug>-twin.toml`
does the same thing right, and expects "valid".
"""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from checkers.history.columns import Operations
from checkers.vocabulary.document import VerdictDocument
from harness.campaign.canary import LISTED, TWIN, bugs
from harness.core.duration import NS
from harness.core.errors import ConfigurationError, FencepostError
from harness.core.events import Event, RunJudged
from harness.core.exit_codes import ExitCode, of_error, of_several
from harness.core.invocation import typed
from harness.core.paths import as_seen_from_here
from harness.core.suggestions import near_or
from harness.engines.engine import Engine
from harness.report.answer import times
from harness.report.console import console
from harness.report.groups import explained
from harness.report.holds import end_of
from harness.report.lines import LineTone, StyledLine
from harness.report.recorded_run import recorded_plan
from harness.report.rows import Lines
from harness.report.verdict_text import found_in
from harness.run.runner import RunOptions, run
from harness.spec import Target, load
from harness.spec.reading import zoo
from harness.spec.toml import head_comment


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhibit:
    """One planted bug and its twin."""

    name: str
    story: str  # what is wrong, in a sentence
    bug: Target
    twin: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class ExhibitRun:
    """How one run of an exhibit ended: with a verdict, or with an error."""

    document: VerdictDocument | None = None
    folder: Path | None = None
    seconds: float | None = None  # from the workload's start until what was expected had happened
    error: FencepostError | None = None

    @property
    def verdict(self) -> str:
        """One word for a table."""
        return self.document.verdict if self.document else "no verdict"

    @property
    def as_expected(self) -> bool:
        """Did it end with the verdict that its target expects?"""
        return bool(self.document and self.document.as_expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExhibitResult:
    """The results of one exhibit."""

    exhibit: Exhibit
    bug: ExhibitRun
    twin: ExhibitRun

    @property
    def found(self) -> dict[str, int]:
        """The count of each anomaly found in the bug."""
        return found_in(self.bug.document) if self.bug.document else {}

    @property
    def code(self) -> ExitCode:
        """1: the bug was not caught, or the twin was accused; 2, 3, 4: either was not decided."""
        return of_several([*_codes(self.bug, unknown=ExitCode.VIOLATION), *_codes(self.twin)])

    def as_json(self) -> dict[str, Any]:
        """The row for `--format json`."""
        return {
            "bug": self.exhibit.name,
            "story": self.exhibit.story,
            "expected": list(self.exhibit.bug.expected),
            "found": self.found,
            "caught": self.bug.as_expected,
            "seconds_to_find": self.bug.seconds,
            "twin": self.twin.verdict,
            "twin_is_clean": self.twin.as_expected,
            "errors": [str(outcome.error) for outcome in (self.bug, self.twin) if outcome.error],
            "runs": [str(outcome.folder) for outcome in (self.bug, self.twin) if outcome.folder],
        }


def exhibits(words: Sequence[str] = ()) -> tuple[Exhibit, ...]:
    """Read the exhibits that match a name or a pattern such as `redis-*`; without words, all.

    Raises ConfigurationError if a word matches none.
    """
    files, names = zoo(), bugs()
    for word in words:
        if not fnmatch.filter(names, word):
            raise ConfigurationError(f"the zoo has no bug called {word}{near_or(word, names, LISTED)}")
    chosen = [name for name in names if not words or any(fnmatch.fnmatch(name, word) for word in words)]
    return tuple(
        Exhibit(
            name=name,
            story=head_comment(files[name].read_text(encoding="utf-8")),
            bug=load(files[name]),
            twin=load(files[f"{name}{TWIN}"]),
        )
        for name in chosen
    )


def show_all(
    chosen: Sequence[Exhibit],
    engine: Engine,
    options: RunOptions,
    *,
    text: TextIO | None,
    shown: Callable[[dict[str, Any]], None],
) -> ExitCode:
    """Run every exhibit, and print each as soon as its twin is judged; `shown` gets its row as JSON."""
    began = time.monotonic()
    rows: list[ExhibitResult] = []
    with console(text) as screen:
        live = text is not None and text.isatty()  # elsewhere a run's own lines would break up the table
        watch = screen.show if live else lambda _event: None
        noted = replace(options, notify=screen.show)
        screen.write(
            [StyledLine(_columns(chosen, "bug", "expected", "found", "after", "twin"), LineTone.FAINT)]
        )
        for exhibit in chosen:
            row = ExhibitResult(
                exhibit=exhibit,
                bug=_outcome(exhibit.bug, engine, noted, watch),
                twin=_outcome(exhibit.twin, engine, noted, watch),
            )
            rows.append(row)
            screen.clear()
            screen.write(_lines(row, chosen))
            shown(row.as_json())
        screen.write(_summary(rows, time.monotonic() - began))
    return of_several(row.code for row in rows)


def _outcome(
    target: Target, engine: Engine, options: RunOptions, watch: Callable[[Event], None]
) -> ExhibitRun:
    """Run one target; an error is an outcome too, so that the others still run."""
    judged: RunJudged | None = None
    try:
        with closing(run(target, engine, options)) as events:
            for event in events:
                watch(event)
                if isinstance(event, RunJudged):
                    judged = event
    except FencepostError as error:
        return ExhibitRun(error=error)
    if judged is None or judged.interrupted:
        raise KeyboardInterrupt
    return ExhibitRun(
        document=judged.document,
        folder=as_seen_from_here(judged.folder),
        seconds=_seconds_to_find(judged, target.expected),
    )


def _seconds_to_find(judged: RunJudged, expected: Sequence[str]) -> float | None:
    """The time until the last operation of the first proof; None without a proof."""
    started = recorded_plan(judged.folder).started
    on_lines = Lines(Operations.of(judged.history.operations))
    moments = [
        max(map(end_of, on_lines.of(finding.operations)))
        for finding in explained(judged.document)
        if finding.anomaly in expected and finding.operations
    ]
    return round((min(moments) - started) / NS["s"], 2) if moments and started is not None else None


def _codes(outcome: ExhibitRun, unknown: ExitCode = ExitCode.UNKNOWN) -> Iterator[ExitCode]:
    if outcome.error:
        yield of_error(outcome.error)
    elif outcome.as_expected:
        yield ExitCode.AS_EXPECTED
    else:
        yield unknown if outcome.verdict == "unknown" else ExitCode.VIOLATION


def _lines(row: ExhibitResult, chosen: Sequence[Exhibit]) -> Iterator[StyledLine]:
    found = times(row.found) or ("nothing" if row.bug.document else "not run")
    after = "" if row.bug.seconds is None else f"{row.bug.seconds:.1f} s"
    expected = ", ".join(row.exhibit.bug.expected)
    tone = LineTone.GOOD if row.code is ExitCode.AS_EXPECTED else LineTone.BAD
    yield StyledLine(_columns(chosen, row.exhibit.name, expected, found, after, row.twin.verdict), tone)
    if tone is LineTone.BAD:
        yield StyledLine(row.exhibit.story, indent=2)
    for what, outcome in (("the bug", row.bug), ("the twin", row.twin)):
        if outcome.error:
            first, *others = outcome.error.lines
            yield from (
                StyledLine(line, LineTone.BAD, 2) for line in (f"{what} was not judged: {first}", *others)
            )
        elif not outcome.as_expected and outcome.folder and outcome.document:
            reasons = "; ".join(outcome.document.reasons)
            yield StyledLine(f"{what} is {outcome.verdict}: {reasons}", LineTone.BAD, 2)
            yield StyledLine(typed("show", outcome.folder), LineTone.COMMAND, 2)


def _columns(chosen: Sequence[Exhibit], name: str, expected: str, found: str, after: str, twin: str) -> str:
    widths = [
        max(len(exhibit.name) for exhibit in chosen),
        max(len(", ".join(exhibit.bug.expected)) for exhibit in chosen),
    ]
    return f"{name:<{widths[0]}}  {expected:<{widths[1]}}  {after:>7}  {twin:<10}  {found}"


def _summary(rows: Sequence[ExhibitResult], seconds: float) -> Iterator[StyledLine]:
    caught = sum(row.bug.as_expected for row in rows)
    clean = sum(row.twin.as_expected for row in rows)
    good = caught == clean == len(rows)
    said = f"{caught} of {len(rows)} bugs caught, {clean} of {len(rows)} twins clean, in {seconds:.0f} s"
    yield StyledLine("")
    yield StyledLine(said, LineTone.GOOD if good else LineTone.BAD)

"""Histories of other tools on the command line: judged by a model, imported and exported."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from shlex import quote
from typing import TextIO, cast

from checkers import formats
from checkers.formats import Foreign, json_values
from checkers.formats.operations import with_article
from checkers.formats.text import read_text_of
from checkers.formats.writing import as_ours, export, left_out, not_exported
from checkers.history.operation import NO_VALUE
from checkers.history.reader import parse
from checkers.models.judge import judge_read
from checkers.text.errors import HistoryError
from checkers.text.printable import shorten
from checkers.verdict.judge import judge
from checkers.vocabulary.document import VerdictDocument
from harness.cli.progress import progress
from harness.cli.selection import STANDARD_INPUT
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode, of_verdict
from harness.core.printing import say
from harness.report.console import console
from harness.report.lines import LineTone, StyledLine
from harness.report.sentences import count
from harness.report.verdict_text import proof, story

LEASES_END = (
    "leases may end without a release, which no mutex expresses: another checker may call this export wrong"
    " although the run is right; `fencepost recheck` without --model judges the run itself"
)
_MOST_FINDINGS = 3  # that are shown, unless --verbose is given
_HEADLINES = {
    "valid": ("VALID: one order of the operations explains every answer", LineTone.GOOD),
    "invalid": ("VIOLATION", LineTone.BAD),
    "unknown": ("UNKNOWN", LineTone.UNSURE),
}


def recheck_by_model(
    path: Path,
    model: str,
    initial: str | None,
    *,
    verbose: bool = False,
    text: TextIO | None,
    judged: Callable[[VerdictDocument], None],
) -> ExitCode:
    """Judge a history in any format by a model, print the verdict, and return its exit code."""
    start = _start(initial)
    with progress(sys.stderr) as stage:
        stage(f"reading {_named(path)}")
        history = _read(path)
        stage(f"judging {_named(path)} as {model}")
        verdict, notices = judge_read(history, model, initial=start)
    document = verdict.documented(None if path == STANDARD_INPUT else path)
    judged(document)
    with console(text) as screen:
        screen.write(StyledLine(f"note: {notice}", LineTone.FAINT) for notice in notices)
        most = None if verbose else _MOST_FINDINGS
        screen.write(_verdict_lines(f"{history.name} as {model}", document, most))
    return of_verdict(document)


def export_history(
    path: Path, form: str, model: str | None, key: str | None, initial: str | None
) -> Iterator[str]:
    """Yield the lines of a history in another tool's format."""
    start = _start(initial)
    history = _read(path)
    if history.leased and model is not None and model.endswith("mutex"):
        say(f"note: {LEASES_END}")
    lines = export(history, form, model, key, start)
    for sentence in not_exported(history, model, key):
        say(f"note: {sentence}")
    return lines


def import_history(path: Path, model: str, initial: str | None) -> Iterator[str]:
    """Yield another tool's history as lines of history.jsonl; HistoryError if these cannot express it."""
    start = _start(initial)
    history = _read(path)
    lines = list(as_ours(history, model, start))
    by_model = judge_read(history, model, initial=start).verdict.validity
    if by_model is not judge(parse(lines)).validity:
        raise HistoryError(
            history.name,
            1,
            f"as {with_article(model)} this history is {by_model.name.lower()}, and history.jsonl cannot"
            f" express why; judge the original with recheck --model {model}",
        )
    for sentence in (*history.notices, *left_out(history, model)):
        say(f"note: {sentence}")
    if len(lines) == 1:
        say("note: there is no operation to import: only the header is written")
    return iter(lines)


def _read(path: Path) -> Foreign:
    if path == STANDARD_INPUT:
        return formats.parse(read_text_of(cast("BufferedReader", sys.stdin.buffer), _named(path)))
    return formats.read(path)


def _named(path: Path) -> str:
    return "standard input" if path == STANDARD_INPUT else path.name


def _start(initial: str | None) -> object:
    """What --initial says; NO_VALUE if it was not given."""
    if initial is None:
        return NO_VALUE
    try:
        return json_values.loads(initial)
    except ValueError as error:
        remedy = f"a text has quotes: {quote(shorten(json.dumps(initial)))}"
        raise ConfigurationError(f"--initial {shorten(initial)}: not JSON: {error}; {remedy}") from None


def _verdict_lines(name: str, document: VerdictDocument, most: int | None) -> Iterator[StyledLine]:
    said, tone = _HEADLINES[document.verdict]
    why = "; ".join(document.reasons)
    yield StyledLine(f"{name}: {said}{': ' if why else ''}{why}", tone)
    findings = document.findings
    for finding in findings[:most]:
        yield from (StyledLine(""), story(finding), *proof(finding))
    if more := len(findings[most:]) if most else 0:
        yield StyledLine(f"{count(more, 'more finding')}: --verbose shows all", LineTone.FAINT, 2)

"""Histories of other tools on the command line: judged by a model, imported and exported."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from checkers import interop, judge, parse
from checkers.document import VerdictDocument
from checkers.errors import HistoryError
from checkers.interop.foreign import judge_foreign
from checkers.interop.writing import as_ours, export, left_out
from harness.cli.progress import progress
from harness.core.exit_codes import ExitCode, of_verdict
from harness.core.printing import say
from harness.report.console import console
from harness.report.verdict_text import MOST_FINDINGS, Line, Tone, proof

LEASES_END = (
    "leases may end without a release, which no mutex expresses: another checker may call this export wrong"
    " although the run is right; `fencepost recheck` without --model judges the run itself"
)
_HEADLINES = {
    "valid": ("VALID: one order of the operations explains every answer", Tone.GOOD),
    "invalid": ("VIOLATION", Tone.BAD),
    "unknown": ("UNKNOWN", Tone.UNSURE),
}


def recheck_by_model(
    path: Path, model: str, *, text: TextIO | None, judged: Callable[[VerdictDocument], None]
) -> ExitCode:
    """Judge a history in any format by a model, print the verdict, and return its exit code."""
    with progress(sys.stderr) as stage:
        stage(f"judging {path.name} as {model}")
        verdict, notices = judge_foreign(path, model)
    document = verdict.documented(path)
    judged(document)
    with console(text) as screen:
        screen.write(Line(f"note: {notice}", Tone.FAINT) for notice in notices)
        screen.write(_verdict_lines(f"{path} as {model}", document))
    return of_verdict(document)


def export_history(path: Path, form: str, model: str | None, key: str | None) -> Iterator[str]:
    """Yield the lines of a history in another tool's format."""
    history = interop.read(path)
    if history.leased and model is not None and model.endswith("mutex"):
        say(f"note: {LEASES_END}")
    return export(history, form, model, key)


def import_history(path: Path, model: str) -> Iterator[str]:
    """Yield another tool's history as the lines of a history.jsonl.

    Raises:
        HistoryError: it cannot be read, or history.jsonl cannot express it or its verdict.
    """
    history = interop.read(path)
    lines = list(as_ours(history, model))
    by_model = judge_foreign(path, model).verdict.validity
    if by_model is not judge(parse(lines)).validity:
        raise HistoryError(
            str(path),
            1,
            f"as a {model} this history is {by_model.name.lower()}, and history.jsonl cannot express why;"
            f" judge the original with recheck --model {model}",
        )
    for sentence in left_out(history, model):
        say(f"note: {sentence}")
    return iter(lines)


def _verdict_lines(name: str, document: VerdictDocument) -> Iterator[Line]:
    said, tone = _HEADLINES[document.verdict]
    why = "; ".join(document.reasons)
    yield Line(f"{name}: {said}{': ' if why else ''}{why}", tone)
    findings = document.findings
    for finding in findings[:MOST_FINDINGS]:
        yield from proof(finding)
    if len(findings) > MOST_FINDINGS:
        yield Line(f"{len(findings) - MOST_FINDINGS} more findings: --format json shows all", Tone.FAINT, 2)

"""junit.xml of one run: a suite with one case, for CI servers that collect the results of tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from checkers.history.records import History
from checkers.vocabulary.document import VerdictDocument
from harness.core.duration import NS
from harness.core.exit_codes import ExitCode, of_verdict
from harness.files import run_files
from harness.files.atomic_files import replace_file
from harness.report.answer import answer
from harness.report.junit import Case, Kind, Result, Suite, written
from harness.report.recorded_run import recorded_plan
from harness.report.verdict_text import JudgedRun, explanation

NAME = "junit.xml"
_PACKAGE = "fencepost"
_ENVIRONMENT = ("engine", "fencepost", "git_commit")
_KINDS: Mapping[ExitCode, tuple[Kind, str]] = {
    ExitCode.VIOLATION: ("failure", "failed"),
    ExitCode.UNKNOWN: ("error", "unknown"),
}


def write(folder: Path, document: VerdictDocument, history: History) -> None:
    """Write a judged run: a violation is a failure, and an unknown run an error."""
    header = history.header
    run = replace(JudgedRun.of(folder.absolute(), document, history), has_report=True)  # it is written next
    cut = document.interrupted
    worked = cut.seconds if cut else (recorded_plan(folder).duration or 0) / NS["s"]  # 0: it is not known
    _write(folder, header.target, header.seed, worked, _result(run))


def write_unjudged(folder: Path, target: str, seed: int, headline: str, why: Sequence[str]) -> None:
    """Write a run that ended without a verdict: an error."""
    said = f"{headline}: {why[0]}"
    _write(
        folder, target, seed, 0.0, Result(kind="error", type="infrastructure", message=said, lines=why[1:])
    )


def _write(folder: Path, target: str, seed: int | None, seconds: float, result: Result | None) -> None:
    environment = run_files.document(folder, run_files.ENVIRONMENT)
    suite = Suite(
        name=target,
        package=_PACKAGE,
        started=str(environment.get("began")),
        properties={"seed": seed, **{name: environment.get(name) for name in _ENVIRONMENT}},
        cases=[Case(name="run", seconds=seconds, result=result)],
        output=[f"run folder: {folder.absolute()}"],
    )
    replace_file(folder / NAME, [written([suite])])


def _result(run: JudgedRun) -> Result | None:
    found = _KINDS.get(of_verdict(run.document))
    if found is None:
        return None
    kind, outcome = found
    said = answer(run.document, run.target).headline
    return Result(kind=kind, type=outcome, message=said, lines=explanation(run))

"""junit.xml of one run: a suite with one case, for CI servers that collect the results of tests."""

from __future__ import annotations

from pathlib import Path

from checkers.document import VerdictDocument
from checkers.history.reader import History
from harness.core.duration import NS
from harness.core.exit_codes import ExitCode, of_verdict
from harness.files import run_files
from harness.files.atomic_files import replace_file
from harness.files.environment import repetition_in
from harness.report.answer import answer
from harness.report.junit import Case, Result, Suite, written
from harness.report.recorded_run import recorded_plan
from harness.report.verdict_text import JudgedRun, explanation

NAME = "junit.xml"
_PACKAGE = "fencepost"
_ENVIRONMENT = ("engine", "fencepost", "git_commit")


def write(folder: Path, document: VerdictDocument, history: History) -> None:
    """Write a judged run: a violation is a failure, and an unknown run an error."""
    header = history.header
    run = JudgedRun(
        target=header.target,
        document=document,
        history=history,
        folder=folder.absolute(),
        report=folder.absolute() / run_files.REPORT,
        seed=header.seed if run_files.has(folder, run_files.TARGET) else None,
        repetition=repetition_in(folder),
    )
    _write(folder, header.target, header.seed, _worked(folder, document), _result(run))


def write_unjudged(folder: Path, target: str, seed: int, why: str) -> None:
    """Write a run that ended without a verdict: an error."""
    _write(folder, target, seed, 0.0, Result(kind="error", type="infrastructure", message=why))


def _write(folder: Path, target: str, seed: int | None, seconds: float, result: Result | None) -> None:
    environment = run_files.document(folder, run_files.ENVIRONMENT)
    suite = Suite(
        name=target,
        package=_PACKAGE,
        started=str(environment.get("began")),
        properties={"seed": seed, **{name: environment.get(name) for name in _ENVIRONMENT}},
        cases=[Case(name=f"seed {seed}", seconds=seconds, result=result)],
        output=[f"run folder: {folder.absolute()}"],
    )
    replace_file(folder / NAME, [written([suite])])


def _result(run: JudgedRun) -> Result | None:
    said = answer(run.document, run.target).headline
    match of_verdict(run.document):
        case ExitCode.VIOLATION:
            return Result(kind="failure", type="failed", message=said, text=explanation(run, brief=True))
        case ExitCode.UNKNOWN:
            return Result(kind="error", type="unknown", message=said, text=explanation(run, brief=True))
    return None


def _worked(folder: Path, document: VerdictDocument) -> float:
    """How long the clients worked, in seconds; 0 if the plan does not say."""
    if document.interrupted:
        return document.interrupted.seconds
    return (recorded_plan(folder).duration or 0) / NS["s"]

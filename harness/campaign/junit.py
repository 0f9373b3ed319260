"""junit.xml of a night: a suite for each cell, a case for each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from checkers.text.printable import quotation
from harness.campaign.assessment import AssessedRun, Assessment, CellResult
from harness.campaign.canary import is_canary
from harness.campaign.night import Night
from harness.campaign.schedule import Job
from harness.campaign.status import RunOutcome
from harness.core.invocation import typed_anywhere
from harness.report.junit import Case, Kind, Result, Suite, written


def junit(night: Night, assessment: Assessment, *, allow_unknown: bool) -> str:
    """Write a night as JUnit XML.

    A violation is a failure, an infrastructure failure an error, an unknown an error unless allowed,
    and so is a run of a shard that cannot be judged again: if that is allowed, it is skipped. A
    quarantined failure is skipped with its reason, and so is a run that did not fit into the budget.
    """
    return written(_suite(night, assessment, each, allow_unknown=allow_unknown) for each in assessment.cells)


def _suite(night: Night, assessment: Assessment, result: CellResult, *, allow_unknown: bool) -> Suite:
    cell, plan = result.cell, night.plan
    return Suite(
        name=cell.name,
        package=assessment.plan.campaign,
        started=result.runs[0].finished.started if result.runs else assessment.plan.started,
        properties={
            "lock": cell.lock,
            "storage": cell.storage,
            "faults": cell.faults,
            "status": result.status,
            "engine": plan.engine,
            "fencepost": plan.fencepost,
            "git_commit": plan.git_commit,
            "tested_commit": plan.tested_commit,
            **{f"seed of {_name(run.finished.job)}": run.finished.job.seed for run in result.runs},
        },
        cases=[
            *(_case(night, result, run, allow_unknown=allow_unknown) for run in result.runs),
            *(_not_run(result, job) for job in result.left),
        ],
        output=[
            f"{_name(run.finished.job)}: {night.path / run.finished.folder}"
            for run in result.runs
            if run.finished.folder
        ],
    )


def _case(night: Night, result: CellResult, run: AssessedRun, *, allow_unknown: bool) -> Case:
    kind = _KINDS.get(run.outcome)
    if allow_unknown:
        kind = _ALLOWED.get(run.outcome, kind)
    why = str(run.quarantine or run.headline)
    lines = tuple(_details(night, result, run))
    return Case(
        name=_name(run.finished.job),
        seconds=run.finished.seconds,
        result=Result(kind=kind, type=run.outcome, message=why, lines=lines) if kind else None,
    )


def _not_run(result: CellResult, job: Job) -> Case:
    kind: Kind = "failure" if is_canary(result.cell.name) else "skipped"
    return Case(
        name=_name(job),
        result=Result(kind=kind, type=result.status, message="the night ended before its turn"),
    )


def _name(job: Job) -> str:
    """Name a case as in every night, so that CI servers can compare it: without the seed."""
    return f"run {job.repeat}"


_KINDS: Mapping[RunOutcome, Kind] = {
    RunOutcome.FAILED: "failure",
    RunOutcome.UNKNOWN: "error",
    RunOutcome.NOT_JUDGED: "error",
    RunOutcome.INFRASTRUCTURE: "error",
    RunOutcome.QUARANTINED: "skipped",
}
_ALLOWED: Mapping[RunOutcome, Kind | None] = {RunOutcome.UNKNOWN: None, RunOutcome.NOT_JUDGED: "skipped"}


def _details(night: Night, result: CellResult, run: AssessedRun) -> Iterator[str]:
    """The steps that prove a failure, and how to repeat it."""
    finished = run.finished
    verdict = finished.verdict
    if verdict is None:
        yield from quotation(finished.not_judged or finished.message)
        return
    yield from verdict["reasons"]
    if finding := run.finding:
        yield from ("", f"{finding['anomaly']}: {finding['summary']}")
        yield from finding.get("story", ())
        yield from (f"{number}. {step}" for number, step in enumerate(finding["steps"], start=1))
    yield ""
    if run.fingerprint:
        yield f"fingerprint: {run.fingerprint}"
    if reproduced := result.reproduced(run):
        yield reproduced
    if finished.folder:
        yield f"judge again: {typed_anywhere('recheck', night.path / finished.folder)}"
    if repeated := night.run_again(finished):
        yield f"run again: {repeated.command}"
        yield from repeated.notes()

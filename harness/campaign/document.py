"""campaign.json, as types: one definition gives the document and its schema."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from harness.campaign.assessment import AssessedRun, Assessment, CellResult
from harness.campaign.night import Night
from harness.campaign.shrinking import sentence
from harness.campaign.summary import headline


class RateDocument(Struct, frozen=True, kw_only=True):
    """How many runs failed since the status last changed, of the last 30.

    `low` and `high` bound the rate with 95 % confidence.
    """

    failed: int
    runs: int
    low: float
    high: float


class RunDocument(Struct, frozen=True, kw_only=True):
    """One run. `again`: how often it failed once more with the same seed and plan, such as "2 of 3".

    `outcome`: passed, failed, unknown, not-judged, infrastructure or quarantined.

    `replay`: the command that repeats a failure; `made_with`: the plan, version and commit of that run, as
    far as they are known. `shrunk`: what is left of a failure that was shrunk; the files minimal* are in
    the run's folder.

    `folder` is relative to the campaign's; null if there is no verdict. A run of a shard is judged again
    where the shards are joined: `differences` says what its shard had found instead, "" if the same; if its
    history is missing or cannot be judged, the outcome is not-judged, and `verdict` is null.
    """

    repeat: int
    seed: int
    started: str
    seconds: float
    outcome: str
    verdict: str | None
    fingerprint: str | None
    folder: str | None
    headline: str
    again: str = ""
    replay: str | None = None
    made_with: str = ""
    shrunk: str | None = None
    differences: str = ""


class FinishedDocument(Struct, frozen=True, kw_only=True):
    """One run as soon as it has ended, a line of `--format json`. `reproduction`: 0, or which repetition.

    `verdict` is its verdict.json; null if it failed before it was judged.
    """

    cell: str
    repeat: int
    reproduction: int
    seed: int
    started: str
    seconds: float
    outcome: str
    fingerprint: str | None
    headline: str
    folder: str | None
    verdict: dict[str, Any] | None


class CellDocument(Struct, frozen=True, kw_only=True):
    """One cell. `not_run`: runs that did not fit into the budget.

    `fixed`: if it failed before and is fixed, flaky or not seen tonight, why the clean runs since are a fix,
    or are not; else null.
    """

    name: str
    lock: str
    storage: str
    faults: str
    status: str
    rate: RateDocument
    fixed: str | None
    not_run: int
    runs: list[RunDocument]


class CanaryDocument(Struct, frozen=True, kw_only=True):
    """The planted bug that the night had to find, with its twin clean. `missed`: why it did not; or null."""

    bug: str
    missed: str | None


class CampaignDocument(Struct, frozen=True, kw_only=True):
    """campaign.json: fields may be added, never renamed.

    `git_commit` is Fencepost's; `tested_commit` that of the repository in which the campaign was started.

    `notices`: sentences about shards that are missing, judged differently or joined without a campaign file,
    and about quarantines that have expired or match nothing.
    """

    version: int = field(name="schema", default=1)
    campaign: str
    started: str
    engine: str
    shard: str
    fencepost: str
    git_commit: str | None
    tested_commit: str | None = None
    headline: str
    exit_code: int
    notices: list[str] = []
    canary: CanaryDocument | None = None
    cells: list[CellDocument]


def document(night: Night, assessment: Assessment, *, exit_code: int) -> CampaignDocument:
    """Make the document of a night."""
    canary = assessment.canary
    return CampaignDocument(
        campaign=assessment.plan.campaign,
        started=assessment.plan.started,
        engine=night.plan.engine,
        shard=night.plan.shard,
        fencepost=night.plan.fencepost,
        git_commit=night.plan.git_commit,
        tested_commit=night.plan.tested_commit,
        headline=headline(assessment),
        exit_code=exit_code,
        notices=list(assessment.notices),
        canary=CanaryDocument(bug=canary.bug, missed=canary.missed or None) if canary else None,
        cells=[_cell(result, night) for result in assessment.cells],
    )


def finished_document(run: AssessedRun) -> FinishedDocument:
    """Make the line of a run."""
    finished, job = run.finished, run.finished.job
    return FinishedDocument(
        cell=job.cell, reproduction=job.reproduction, verdict=finished.verdict, **_in_both(run)
    )


def _in_both(run: AssessedRun) -> dict[str, Any]:
    """The fields that both documents of a run have."""
    finished = run.finished
    return {
        "repeat": finished.job.repeat,
        "seed": finished.job.seed,
        "started": finished.started,
        "seconds": finished.seconds,
        "outcome": run.outcome.value,
        "fingerprint": run.fingerprint,
        "folder": finished.folder,
        "headline": run.headline,
    }


def _cell(result: CellResult, night: Night) -> CellDocument:
    rate, (low, high) = result.rate, result.rate.interval
    return CellDocument(
        name=result.cell.name,
        lock=result.cell.lock,
        storage=result.cell.storage,
        faults=result.cell.faults,
        status=result.status.value,
        rate=RateDocument(failed=rate.failed, runs=rate.runs, low=round(low, 4), high=round(high, 4)),
        fixed=str(result.clean) if result.clean else None,
        not_run=result.not_run,
        runs=[_run(result, run, night) for run in result.runs],
    )


def _run(result: CellResult, run: AssessedRun, night: Night) -> RunDocument:
    finished = run.finished
    again = night.run_again(finished) if run in result.failures else None
    return RunDocument(
        verdict=finished.verdict["verdict"] if finished.verdict else None,
        again=result.reproduced(run).removeprefix("reproduced "),
        replay=str(again.command) if again else None,
        made_with=again.made_with if again else "",
        shrunk=sentence(night, run),
        differences=finished.differences,
        **_in_both(run),
    )

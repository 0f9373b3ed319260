"""The outputs of a night: files for people and machines, and rows in the results."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from checkers.text.printable import as_json
from harness.campaign import keep, page
from harness.campaign.assessment import Assessment, assess
from harness.campaign.document import document
from harness.campaign.issues import code_quality, issues
from harness.campaign.junit import junit
from harness.campaign.night import Night
from harness.campaign.page.trend import NIGHTS
from harness.campaign.results import Results, StoredRun
from harness.campaign.summary import markdown
from harness.core.exit_codes import ExitCode
from harness.files.atomic_files import replace_file

DOCUMENT = "campaign.json"
JUNIT = "junit.xml"
SUMMARY = "summary.md"
CODE_QUALITY = "code-quality.json"
PAGE = page.NAME


def assessed(night: Night, results: Results | None) -> Assessment:
    """Compare a night with those before it."""
    plan, campaign = night.plan, night.campaign
    return assess(
        plan,
        night.finished(),
        before=results.outcomes(before=plan.started) if results else {},
        quarantine=campaign.quarantine if campaign else None,
        today=datetime.now(UTC).date(),
    )


def write(
    night: Night, results: Results | None, *, allow_unknown: bool, ended: bool = True
) -> tuple[Assessment, ExitCode]:
    """Write all outputs of a night, and return how it went.

    Once it has `ended`, its runs are added to the results and reduced; those of a shard never are reduced,
    because they are judged again where it is joined.
    """
    assessment = assessed(night, results)
    code = assessment.exit_code(allow_unknown=allow_unknown)
    summed_up = document(night, assessment, exit_code=code)
    for name, text in (
        (DOCUMENT, as_json(msgspec.to_builtins(summed_up), 1) + "\n"),
        (JUNIT, junit(night, assessment, allow_unknown=allow_unknown)),
        (SUMMARY, markdown(night, assessment)),
        (CODE_QUALITY, as_json(code_quality(issues(night, assessment), repository()), 1) + "\n"),
    ):
        replace_file(night.path / name, [text])
    if results and ended:
        results.add(night, _rows(night, assessment))
    campaign = night.campaign
    if ended and campaign and not night.plan.shard:
        keep.reduce(night, campaign.keep, campaign.keep_size)
    plan = night.plan
    earlier = results.recent(plan.campaign, before=plan.started, nights=NIGHTS - 1) if results else None
    replace_file(night.path / PAGE, [page.render(night, assessment, earlier, code)])
    return assessment, code


def repository() -> Path:
    """Return the checked-out repository as the CI server names it, otherwise the current folder."""
    return Path(os.environ.get("GITHUB_WORKSPACE") or os.environ.get("CI_PROJECT_DIR") or Path.cwd())


def _found(anomalies: Mapping[str, int]) -> Mapping[str, int]:
    return {name: count for name, count in anomalies.items() if count}


def _rows(night: Night, assessment: Assessment) -> list[StoredRun]:
    return [
        StoredRun(
            cell=result.cell.name,
            repeat=run.finished.job.repeat,
            reproduction=run.finished.job.reproduction,
            seed=run.finished.job.seed,
            started=run.finished.started,
            seconds=run.finished.seconds,
            outcome=run.outcome,
            verdict=run.finished.verdict["verdict"] if run.finished.verdict else None,
            anomalies=_found(run.finished.verdict["anomalies"]) if run.finished.verdict else None,
            fingerprint=run.fingerprint,
            folder=str(night.path / run.finished.folder) if run.finished.folder else None,
            replay=night.replay(run.finished) if run.fingerprint else None,
            target=result.cell.source,
        )
        for result in assessment.cells
        for run in (*result.runs, *result.reproductions)
    ]

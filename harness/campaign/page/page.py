"""The content of a night's page, as its template reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.campaign.assessment import Assessment
from harness.campaign.canary import is_canary
from harness.campaign.night import Night
from harness.campaign.page.cell_rows import CellRow, cell_rows
from harness.campaign.page.findings import MOST_GROUPS, FailureGroup, Undecided, groups, undecided
from harness.campaign.page.links import Links
from harness.campaign.page.matrix import MatrixTable, matrix
from harness.campaign.page.tones import NEUTRAL, OF_EXIT_CODE
from harness.campaign.page.trend import Trend, tonight, trend
from harness.campaign.page.twins import Twins, twins
from harness.campaign.status import RunOutcome
from harness.campaign.stored import Remembered
from harness.campaign.summary import headline
from harness.core.exit_codes import ExitCode
from harness.report.sentences import capitalized, count


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPage:
    """The content of a page."""

    campaign: str
    tone: str
    label: str
    headline: str
    counted: str
    facts: tuple[str, ...]
    notices: tuple[str, ...]
    groups: tuple[FailureGroup, ...]
    more_groups: int
    undecided: tuple[Undecided, ...]
    matrix: MatrixTable
    twins: tuple[Twins, ...]
    trend: Trend
    cells: tuple[CellRow, ...]


def page(night: Night, assessment: Assessment, earlier: Sequence[Remembered], code: ExitCode) -> CampaignPage:
    """Gather the content of a night's page; `earlier` are the runs of the nights before it."""
    links = Links(night.path)
    runs = [*earlier, *tonight(assessment)]
    over_nights = trend([run for run in runs if not is_canary(run.cell)], links)
    found = groups(night, assessment, earlier)
    tone, label = OF_EXIT_CODE.get(code, (NEUTRAL, "Nothing was run"))
    return CampaignPage(
        campaign=assessment.campaign,
        tone=tone,
        label=label,
        headline=headline(assessment),
        counted=_counted(assessment),
        facts=tuple(filter(None, _facts(night))),
        notices=tuple(_notices(assessment)),
        groups=found[:MOST_GROUPS],
        more_groups=len(found[MOST_GROUPS:]),
        undecided=undecided(assessment, links),
        matrix=matrix(assessment.listed),
        twins=twins(assessment.listed),
        trend=over_nights,
        cells=cell_rows(assessment, runs, [each.date for each in over_nights.nights]),
    )


def _facts(night: Night) -> Iterator[str]:
    plan = night.plan
    yield f"{plan.started[:16].replace('T', ' ')} UTC"
    yield f"{plan.engine} engine"
    yield f"tested commit {_short(plan.tested_commit)}" if plan.tested_commit else ""
    yield f"Fencepost {plan.fencepost}" + (f", commit {_short(plan.git_commit)}" if plan.git_commit else "")
    yield f"shard {plan.shard}" if plan.shard else ""


def _short(commit: str) -> str:
    digits, _, dirty = commit.partition("-")
    return digits[:12] + (" with local changes" if dirty else "")


def _counted(assessment: Assessment) -> str:
    runs = [run for result in assessment.listed for run in result.runs]
    failed = sum(run.outcome is RunOutcome.FAILED for run in runs)
    left = sum(result.not_run for result in assessment.listed)
    canary = assessment.canary
    found = f" {capitalized(str(canary))}." if canary and not canary.missed else ""
    return (
        f"{count(len(runs), 'run')} of {count(len(assessment.listed), 'cell')}; {failed or 'none'} failed"
        f"{f', and {left:,} not run' if left else ''}.{found}"
    )


def _notices(assessment: Assessment) -> Iterator[str]:
    if assessment.canary and assessment.canary.missed:
        yield f"{capitalized(str(assessment.canary))}."
    yield from (f"{capitalized(notice)}." for notice in assessment.notices)

"""The content of a night's page, as its template reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.campaign.assessment import Assessment, CellResult
from harness.campaign.canary import is_canary
from harness.campaign.cells import UNFENCED
from harness.campaign.night import Night
from harness.campaign.page.cell_rows import CellRow, cell_rows
from harness.campaign.page.findings import MOST_GROUPS, FailureGroup, Undecided, groups, undecided
from harness.campaign.page.links import Links
from harness.campaign.page.tones import BY_URGENCY, NEUTRAL, OF_EXIT_CODE
from harness.campaign.page.trend import Trend, tonight, trend
from harness.campaign.status import RunOutcome
from harness.campaign.stored import Remembered
from harness.campaign.summary import headline, without_verdict
from harness.core.exit_codes import ExitCode
from harness.report.sentences import capitalized, count

MatrixRow = tuple[str, str, tuple[tuple[CellResult, ...], ...]]
"""A lock and a storage, with the cells of each column; a column may have several or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixTable:
    """All cells by lock, storage and faults."""

    faults: tuple[str, ...]
    rows: tuple[MatrixRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """The same lock, storage and faults, with and without a fence."""

    lock: str
    storage: str
    faults: str
    unfenced: tuple[CellResult, ...]
    fenced: tuple[CellResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPage:
    """The content of a page."""

    campaign: str
    tone: str
    label: str
    headline: str
    counted: str
    without_verdict: tuple[str, ...]  # why runs ended as infrastructure failures
    facts: tuple[str, ...]
    notices: tuple[str, ...]
    groups: tuple[FailureGroup, ...]
    no_groups: str  # what is said if there are none
    more_groups: int
    undecided: tuple[Undecided, ...]
    matrix: MatrixTable
    twins: tuple[Twins, ...]
    trend: Trend
    has_history: bool
    has_earlier: bool  # nights of this campaign in the history
    cells: tuple[CellRow, ...]


def page(
    night: Night, assessment: Assessment, earlier: Sequence[Remembered] | None, code: ExitCode
) -> CampaignPage:
    """Gather the content of a night's page.

    `earlier` are the runs of the nights before it; None if no history was given.
    """
    links = Links(night.path)
    past = earlier or ()
    runs = [*past, *tonight(assessment)]
    over_nights = trend([run for run in runs if not is_canary(run.cell)], links)
    found = groups(night, assessment, past)
    tone, label = OF_EXIT_CODE.get(code, (NEUTRAL, "Nothing was run"))
    return CampaignPage(
        campaign=assessment.campaign,
        tone=tone,
        label=label,
        headline=headline(assessment),
        counted=_counted(assessment),
        without_verdict=tuple(without_verdict(assessment)),
        facts=tuple(filter(None, _facts(night))),
        notices=tuple(_notices(assessment)),
        groups=found[:MOST_GROUPS],
        no_groups=_no_groups(assessment),
        more_groups=len(found[MOST_GROUPS:]),
        undecided=undecided(assessment, links),
        matrix=_matrix(assessment.listed),
        twins=_twins(assessment.listed),
        trend=over_nights,
        has_history=earlier is not None,
        has_earlier=bool(past),
        cells=cell_rows(assessment, runs, [each.date for each in over_nights.nights]),
    )


def _matrix(results: Iterable[CellResult]) -> MatrixTable:
    """A row for each lock and storage, a column for each fault set."""
    slots: dict[tuple[str, str], dict[str, list[CellResult]]] = {}
    for result in results:
        cell = result.cell
        row = slots.setdefault((cell.lock, cell.storage), {})
        row.setdefault(cell.faults, []).append(result)
    faults = tuple(dict.fromkeys(name for row in slots.values() for name in row))
    return MatrixTable(
        faults=faults,
        rows=tuple(
            (lock, storage, tuple(tuple(row.get(name, ())) for name in faults))
            for (lock, storage), row in sorted(slots.items())
        ),
    )


def _twins(results: Iterable[CellResult]) -> tuple[Twins, ...]:
    """Pair the cells that have a twin."""
    alike: dict[tuple[str, str, str], tuple[list[CellResult], list[CellResult]]] = {}
    for result in results:
        kind, _, fencing = result.cell.storage.partition(":")
        pair = alike.setdefault((result.cell.lock, kind, result.cell.faults), ([], []))
        pair[fencing != UNFENCED].append(result)
    return tuple(
        Twins(lock=lock, storage=storage, faults=faults, unfenced=tuple(unfenced), fenced=tuple(fenced))
        for (lock, storage, faults), (unfenced, fenced) in sorted(alike.items())
        if unfenced and fenced
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


_COUNTED: Mapping[RunOutcome, str] = {
    RunOutcome.FAILED: "failed",
    RunOutcome.INFRASTRUCTURE: "ended without a verdict",
    RunOutcome.NOT_JUDGED: "could not be judged again",
    RunOutcome.UNKNOWN: "unknown",
    RunOutcome.QUARANTINED: "quarantined",
    RunOutcome.PASSED: "passed",
}


def _counted(assessment: Assessment) -> str:
    runs = [run for result in assessment.listed for run in result.runs]
    ended = Counter(run.outcome for run in runs)
    left = sum(result.not_run for result in assessment.listed)
    said = [f"{ended[outcome]:,} {_COUNTED[outcome]}" for outcome in BY_URGENCY if ended[outcome]]
    said += [f"{left:,} not run"] if left else []
    canary = assessment.canary
    found = f" {capitalized(str(canary))}." if canary and not canary.missed else ""
    return f"{count(len(runs), 'run')} of {count(len(assessment.listed), 'cell')}: {', '.join(said)}.{found}"


def _no_groups(assessment: Assessment) -> str:
    judged = [run for run in assessment.runs if run.finished.verdict is not None]
    return "No run failed." if judged else "No run was judged, so nothing could be found."


def _notices(assessment: Assessment) -> Iterator[str]:
    if assessment.canary and assessment.canary.missed:
        yield f"{capitalized(str(assessment.canary))}."
    yield from (f"{capitalized(notice)}." for notice in assessment.notices)

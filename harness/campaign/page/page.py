"""The content of a night's page, as its template reads it."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace

from harness.campaign.assessment import Assessment, CellResult
from harness.campaign.canary import is_canary
from harness.campaign.cells import UNFENCED
from harness.campaign.night import Night
from harness.campaign.page.findings import MOST_GROUPS, Links, groups, undecided
from harness.campaign.page.trend import WORDS, strip, tonight, trend
from harness.campaign.status import BAD, GOOD, NEUTRAL, TONES, UNSURE, RunOutcome
from harness.campaign.stored import Remembered
from harness.campaign.summary import by_urgency, headline, without_verdict
from harness.core.duration import NS
from harness.core.exit_codes import ExitCode
from harness.core.grouping import grouped
from harness.report.run import PACKAGE as REPORT
from harness.report.run import asset, digest, environment
from harness.report.sentences import capitalized, count


def page(
    night: Night, assessment: Assessment, earlier: Sequence[Remembered] | None, code: ExitCode
) -> SimpleNamespace:
    """Gather the content of a page, by the names that the template reads.

    `earlier`: runs of the nights before, None without a history.
    """
    links = Links(night.path)
    past = earlier or ()
    runs = [*past, *tonight(assessment)]
    over_nights = trend([run for run in runs if not is_canary(run.cell)], links)
    found = groups(night, assessment, past)
    judged = any(run.finished.verdict is not None for run in assessment.runs)
    missed = [str(assessment.canary)] if assessment.canary and assessment.canary.missed else []
    tone, label = _OF_EXIT_CODE.get(code, (NEUTRAL, "Nothing was run"))
    return SimpleNamespace(
        campaign=assessment.plan.campaign,
        tone=tone,
        label=label,
        headline=headline(assessment),
        counted=_counted(assessment),
        without_verdict=tuple(without_verdict(assessment)),  # why runs ended as infrastructure failures
        facts=tuple(filter(None, _facts(night))),
        notices=tuple(f"{capitalized(notice)}." for notice in (*missed, *assessment.notices)),
        groups=found[:MOST_GROUPS],
        no_groups="No run failed." if judged else "No run was judged, so nothing could be found.",
        more_groups=len(found[MOST_GROUPS:]),
        undecided=undecided(assessment, links),
        matrix=_matrix(assessment.listed),
        twins=_twins(assessment.listed),
        trend=over_nights,
        has_history=earlier is not None,
        has_earlier=bool(past),  # nights of this campaign in the history
        cells=cell_rows(assessment, runs, [each.date for each in over_nights.nights]),
    )


def _matrix(results: Iterable[CellResult]) -> SimpleNamespace:
    """A row for each lock and storage, a column for each fault set: it may have several cells, or none."""
    slots: dict[tuple[str, str], dict[str, list[CellResult]]] = {}
    for result in results:
        cell = result.cell
        row = slots.setdefault((cell.lock, cell.storage), {})
        row.setdefault(cell.faults, []).append(result)
    faults = tuple(dict.fromkeys(name for row in slots.values() for name in row))
    return SimpleNamespace(
        faults=faults,
        rows=tuple(
            (lock, storage, tuple(tuple(row.get(name, ())) for name in faults))
            for (lock, storage), row in sorted(slots.items())
        ),
    )


def _twins(results: Iterable[CellResult]) -> tuple[SimpleNamespace, ...]:
    """Pair the cells that have a twin: the same lock, storage and faults, with and without a fence."""
    alike: dict[tuple[str, str, str], tuple[list[CellResult], list[CellResult]]] = {}
    for result in results:
        kind, _, fencing = result.cell.storage.partition(":")
        pair = alike.setdefault((result.cell.lock, kind, result.cell.faults), ([], []))
        pair[fencing != UNFENCED].append(result)
    return tuple(
        SimpleNamespace(
            lock=lock, storage=storage, faults=faults, unfenced=tuple(unfenced), fenced=tuple(fenced)
        )
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


_OF_EXIT_CODE: Mapping[int, tuple[str, str]] = {
    ExitCode.AS_EXPECTED: (GOOD, "As expected"),
    ExitCode.VIOLATION: (BAD, "Violation"),
    ExitCode.UNKNOWN: (UNSURE, "Unknown"),
    ExitCode.INFRASTRUCTURE: (UNSURE, "Infrastructure failure"),
    ExitCode.CONFIGURATION: (UNSURE, "Could not be run"),
}
"""The tone and the label of a night; with every other exit code, nothing was run."""


def _counted(assessment: Assessment) -> str:
    runs = [run for result in assessment.listed for run in result.runs]
    ended = Counter(run.outcome for run in runs)
    left = sum(result.not_run for result in assessment.listed)
    said = [f"{ended[outcome]:,} {words}" for outcome, words in WORDS.items() if ended[outcome]]
    said += [f"{left:,} not run"] if left else []
    canary = assessment.canary
    found = f" {capitalized(str(canary))}." if canary and not canary.missed else ""
    return f"{count(len(runs), 'run')} of {count(len(assessment.listed), 'cell')}: {', '.join(said)}.{found}"


def cell_rows(
    assessment: Assessment, runs: Sequence[Remembered], nights: Sequence[str]
) -> tuple[SimpleNamespace, ...]:
    """Describe the cells, the most urgent first; `runs` are those of all `nights`."""
    of_cell = grouped((run.cell, run) for run in runs)
    spent = {
        result.cell.name: sum(run.finished.seconds for run in (*result.runs, *result.reproductions))
        for result in assessment.listed
    }
    return tuple(
        _row(result, of_cell.get(result.cell.name, []), nights, spent)
        for result in by_urgency(assessment.listed)
    )


def _row(
    result: CellResult, runs: Sequence[Remembered], nights: Sequence[str], spent: Mapping[str, float]
) -> SimpleNamespace:
    """Describe one cell. Times are in seconds."""
    cell = result.cell
    judged = [run.seconds for run in runs if run.outcome is not RunOutcome.INFRASTRUCTURE]
    typical = statistics.median(judged) if judged else None
    squares = strip(runs, nights)
    failed = sum(square.outcome == "failed" for square in squares)
    return SimpleNamespace(
        result=result,
        strip=squares,
        strip_in_words=f"ran in {len(squares)} of {len(nights)} nights and failed in {failed}",
        typical=typical,  # of a run that got a verdict
        overhead=None if typical is None else typical - cell.duration / NS["s"],  # above its workload
        tonight=spent[cell.name],  # all runs and repetitions
        share=spent[cell.name] / (sum(spent.values()) or 1),  # of the time of all cells
    )


NAME = "index.html"
_PACKAGE = "harness.campaign"
_MINUTE, _HOUR = 60, 3600  # s


def render(night: Night, assessment: Assessment, earlier: Sequence[Remembered] | None, code: ExitCode) -> str:
    """Return the HTML of a night; `earlier`: the runs of the nights before it, or None without a history."""
    style = asset(REPORT, "report.css") + asset(_PACKAGE, "night.css")
    templates = environment(_PACKAGE, REPORT)
    templates.filters["took"] = _took
    return templates.get_template("night.html.j2").render(
        page=page(night, assessment, earlier, code), tones=TONES, style=style, style_hash=digest(style)
    )


def _took(seconds: float | None) -> str:
    """A length of time with the two units that matter."""
    if seconds is None:
        return "–"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:.0f} s"
    return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"

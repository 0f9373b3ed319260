"""A row for each cell: its recent results, and what it costs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.campaign.assessment import Assessment, CellResult
from harness.campaign.page.trend import Bar, strip
from harness.campaign.status import RunOutcome
from harness.campaign.stored import Remembered
from harness.campaign.summary import by_urgency
from harness.core.duration import NS


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """One cell. Times are in seconds."""

    result: CellResult
    strip: tuple[Bar, ...]
    strip_in_words: str
    typical: float | None  # of a run that got a verdict
    overhead: float | None  # of a run above its workload
    tonight: float  # of all runs and repetitions
    share: float  # of the time of all cells


def cell_rows(
    assessment: Assessment, runs: Sequence[Remembered], nights: Sequence[str]
) -> tuple[CellRow, ...]:
    """Describe the cells, the most urgent first; `runs` are those of all `nights`."""
    of_cell: dict[str, list[Remembered]] = {}
    for run in runs:
        of_cell.setdefault(run.cell, []).append(run)
    spent = {result.cell.name: _spent(result) for result in assessment.listed}
    return tuple(
        _row(result, of_cell.get(result.cell.name, []), nights, spent)
        for result in by_urgency(assessment.listed)
    )


def _spent(result: CellResult) -> float:
    return sum(run.finished.seconds for run in (*result.runs, *result.reproductions))


def _row(
    result: CellResult, runs: Sequence[Remembered], nights: Sequence[str], spent: Mapping[str, float]
) -> CellRow:
    cell = result.cell
    judged = [run.seconds for run in runs if run.outcome is not RunOutcome.INFRASTRUCTURE]
    typical = statistics.median(judged) if judged else None
    squares = strip(runs, nights)
    failed = sum(square.outcome == "failed" for square in squares)
    return CellRow(
        result=result,
        strip=squares,
        strip_in_words=f"ran in {len(squares)} of {len(nights)} nights and failed in {failed}",
        typical=typical,
        overhead=None if typical is None else typical - cell.duration / NS["s"],
        tonight=spent[cell.name],
        share=spent[cell.name] / (sum(spent.values()) or 1),
    )

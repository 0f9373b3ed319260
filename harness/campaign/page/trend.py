"""The trend over the nights: how the runs of each ended, as bars of a drawing and as a table.

The drawing is plain SVG without a script. So it is the same on paper, on a phone, and where a
CI server forbids the scripts of the pages it keeps, as Jenkins does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

from harness.campaign.assessment import Assessment
from harness.campaign.page.findings import Links
from harness.campaign.status import RunOutcome
from harness.campaign.stored import Remembered
from harness.core.grouping import grouped

NIGHTS = 30
"""Nights of the trend, tonight included."""
MOST_LISTED = 3_000
"""Runs that are listed individually."""
HEIGHT = 100.0
WORDS: Mapping[RunOutcome, str] = {
    RunOutcome.FAILED: "failed",
    RunOutcome.INFRASTRUCTURE: "ended without a verdict",
    RunOutcome.NOT_JUDGED: "could not be judged again",
    RunOutcome.UNKNOWN: "unknown",
    RunOutcome.QUARANTINED: "quarantined",
    RunOutcome.PASSED: "passed",
}
"""How a run ended, in words; the most urgent comes first."""
BY_URGENCY = (*WORDS,)
_GAP = 0.15  # of a bar's place


def tonight(assessment: Assessment) -> list[Remembered]:
    """Return the runs of this night in the form of earlier ones."""
    return [
        Remembered(
            night=assessment.plan.started,
            cell=result.cell.name,
            repeat=run.finished.job.repeat,
            seed=str(run.finished.job.seed),
            seconds=run.finished.seconds,
            outcome=run.outcome,
            fingerprint=run.fingerprint,
            folder=run.finished.folder,
        )
        for result in assessment.cells
        for run in result.runs
    ]


def trend(runs: Sequence[Remembered], links: Links) -> SimpleNamespace:
    """Gather the nights from their runs, the oldest first."""
    by_night = grouped((run.night, run) for run in runs)
    counts = [Counter(run.outcome for run in each) for each in by_night.values()]
    most = max((len(each) for each in by_night.values()), default=0)
    shown = [outcome for outcome in BY_URGENCY if any(count[outcome] for count in counts)]
    room, rows = MOST_LISTED, []
    for (date, each), count in zip(reversed(by_night.items()), reversed(counts), strict=True):
        listed = tuple((run, links.report(run.folder)) for run in each[:room])
        rows.append(
            SimpleNamespace(
                date=date,
                counts=tuple(count[outcome] for outcome in shown),  # in the order of `outcomes`
                seconds=sum(run.seconds for run in each),
                runs=listed,  # each with a link to its report, or ""
                unlisted=len(each) - len(listed),
            )
        )
        room -= len(rows[-1].runs)
    return SimpleNamespace(
        outcomes=tuple(outcome.value for outcome in shown),
        nights=tuple(reversed(rows)),
        bars=tuple(bar for at, count in enumerate(counts) for bar in _bars(at, count, len(counts), most)),
        most=most,  # runs in one night
    )


def _bars(at: int, count: Counter[RunOutcome], nights: int, most: int) -> list[SimpleNamespace]:
    """Stack the outcomes of one night, the most urgent at the bottom, in a drawing 100 wide."""
    place, y, bars = 100.0 / nights, HEIGHT, []
    for outcome in BY_URGENCY:
        if not count[outcome]:
            continue
        height = HEIGHT * count[outcome] / most
        y -= height
        bars.append(
            SimpleNamespace(
                outcome=outcome.value,
                x=round((at + _GAP / 2) * place, 3),
                y=round(y, 3),
                width=round((1 - _GAP) * place, 3),
                height=round(height, 3),
            )
        )
    return bars


def strip(runs: Sequence[Remembered], nights: Sequence[str]) -> tuple[SimpleNamespace, ...]:
    """Draw one cell's nights: a square for each in which it ran, in the color of its worst run."""
    by_night = grouped((run.night, run.outcome) for run in runs)
    return tuple(
        SimpleNamespace(
            outcome=min(by_night[night], key=BY_URGENCY.index).value,
            x=at + _GAP / 2,
            y=0,
            width=1 - _GAP,
            height=1,
        )
        for at, night in enumerate(nights)
        if night in by_night
    )

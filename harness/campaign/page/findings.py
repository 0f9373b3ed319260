"""What failed in a night: its findings by fingerprint, and the runs that ended without a decision."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

from harness.campaign.assessment import AssessedRun, Assessment, CellResult
from harness.campaign.execution import LOGS
from harness.campaign.night import Night
from harness.campaign.shrinking import sentence
from harness.campaign.stored import Remembered
from harness.core.grouping import grouped
from harness.core.paths import is_file
from harness.files.run_folder import MINIMAL
from harness.report.first_finding import is_of_older_form
from harness.report.run import NAME as REPORT
from harness.report.sentences import count

_MOST_RUNS = 5
MOST_GROUPS = 100


def groups(night: Night, assessment: Assessment, earlier: Sequence[Remembered]) -> list[SimpleNamespace]:
    """Group the failures of a night by fingerprint, those that are not quarantined first."""
    failures = ((result, run) for result in assessment.cells for run in result.failures)
    found = grouped((run.fingerprint or "", (result, run)) for result, run in failures)
    made = (_group(night, shape, members, earlier) for shape, members in found.items())
    return sorted(made, key=lambda group: bool(group.quarantine))


def undecided(assessment: Assessment, links: Links) -> tuple[SimpleNamespace, ...]:
    """Group the runs that neither passed nor failed by what is said of them, each with a link or ""."""
    runs = (run for result in assessment.cells for run in result.undecided)
    found = grouped(((run.outcome.value, run.headline), run.finished) for run in runs)
    return tuple(
        SimpleNamespace(
            outcome=outcome,
            sentence=sentence,
            runs=tuple((each.job, links.report(each.folder) or links.log(each.job.id)) for each in finished),
        )
        for (outcome, sentence), finished in found.items()
    )


def _group(
    night: Night, shape: str, members: Sequence[tuple[CellResult, AssessedRun]], earlier: Iterable[Remembered]
) -> SimpleNamespace:
    """Describe all failures of one fingerprint."""
    result, first = members[0]
    past, finding = [*earlier], first.finding
    shapes = (run.fingerprint for run in past if run.cell == result.cell.name)
    shrunk = [(said, run) for _, run in members if (said := sentence(night, run))]
    said, smallest = shrunk[0] if shrunk else ("", first)
    return SimpleNamespace(
        fingerprint=shape,
        cell=result.cell.name,
        sentence=first.headline,
        how_often=_how_often(
            len(members),
            len(result.runs),
            [*dict.fromkeys(run.night for run in past if run.fingerprint == shape)],
            renamed=any(map(is_of_older_form, filter(None, shapes))),
        ),
        story=" ".join(finding.get("story", ())) if finding else "",
        steps=tuple(finding["steps"]) if finding else (),
        runs=tuple(_failed(night, result, run) for result, run in members[:_MOST_RUNS]),
        more=max(0, len(members) - _MOST_RUNS),  # runs that are not in `runs`
        quarantine=str(first.quarantine or ""),
        shrunk=said,  # what is left of one of the runs; "": none was shrunk
        minimal=Links(night.path).minimal(smallest.finished.folder) if shrunk else (),
    )


def _how_often(tonight: int, runs: int, nights: Sequence[str], *, renamed: bool) -> str:
    now = f"Tonight in {tonight} of {runs} runs" if runs > 1 else "In the one run of tonight"
    if not nights and renamed:
        return f"{now}; earlier nights have failures under fingerprints of an earlier version"
    if not nights:
        return f"{now}; not in earlier nights"
    since = "the first on" if len(nights) > 1 else "on"
    return f"{now}, and in {count(len(nights), 'earlier night')}, {since} {nights[0][:10]}"


def _failed(night: Night, result: CellResult, run: AssessedRun) -> SimpleNamespace:
    """Describe a run that shows a finding."""
    finished = run.finished
    return SimpleNamespace(
        seed=finished.job.seed,
        reproduced=result.reproduced(run),
        replay=night.run_again(finished),
        report=Links(night.path).report(finished.folder),  # a link, or ""
    )


@dataclass(frozen=True, slots=True)
class Links:
    """Links relative to the folder of a night; "" if there is no such file."""

    night: Path

    def report(self, run: str | None) -> str:
        """Link to the report of a run, whose folder is absolute or within the night."""
        return self._link(self.night / run / REPORT) if run else ""

    def minimal(self, run: str | None) -> tuple[tuple[str, str], ...]:
        """Link to the files that shrinking a run has left, each with its name."""
        files = ((name, self._link(self.night / run / name)) for name in MINIMAL) if run else ()
        return tuple((name, link) for name, link in files if link)

    def log(self, job: str) -> str:
        """Link to what a run printed."""
        return self._link(self.night / LOGS / f"{job}.log")

    def _link(self, file: Path) -> str:
        return quote(os.path.relpath(file, self.night)) if is_file(file) else ""

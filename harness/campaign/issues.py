"""What a night found, one issue for each fingerprint, with the line of the file that it belongs to.

A cell of a user's own target file belongs to that file; any other to the campaign file, or where
shards were joined without one, to the target in the folder of the night.
"""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.campaign import campaign_file
from harness.campaign.assessment import AssessedRun, Assessment, CellResult
from harness.campaign.cells import CampaignCell
from harness.campaign.execution import TARGETS
from harness.campaign.night import CAMPAIGN, Night
from harness.campaign.status import RunOutcome
from harness.core.errors import ConfigurationError
from harness.core.paths import path_of
from harness.files import received
from harness.spec.reading import MAX_SIZE, parse
from harness.spec.toml import Key, lines_of_keys


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One thing to look at. `line` is counted from 1."""

    outcome: RunOutcome
    cell: str
    sentence: str
    fingerprint: str
    file: str
    line: int


def issues(night: Night, assessment: Assessment) -> tuple[Issue, ...]:
    """Return the issues of a night: failures by fingerprint, undecided runs by cell and outcome."""
    places = _Places.of(night)
    found: dict[str, Issue] = {}
    for result in assessment.cells:
        for run in result.runs:
            if run.outcome is RunOutcome.PASSED:
                continue
            fingerprint = run.fingerprint or _fingerprint(result, run)
            file, line = places.of_cell(result.cell)
            issue = Issue(
                outcome=run.outcome,
                cell=result.cell.name,
                sentence=run.headline,
                fingerprint=fingerprint,
                file=file,
                line=line,
            )
            found.setdefault(fingerprint, issue)
    return tuple(found.values())


def _fingerprint(result: CellResult, run: AssessedRun) -> str:
    return hashlib.sha256(f"{result.cell.name}\n{run.outcome}".encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class _Places:
    """The campaign file of a night, with the lines of its keys."""

    night: Night
    campaign: campaign_file.Campaign | None
    lines: Mapping[Key, int]

    @classmethod
    def of(cls, night: Night) -> _Places:
        campaign = night.campaign
        copy = received.read(night.path, CAMPAIGN, most=MAX_SIZE)  # with the same lines as the original
        return cls(night, campaign, lines_of_keys(copy.decode()) if campaign and copy else {})

    def of_cell(self, cell: CampaignCell) -> tuple[str, int]:
        if self.campaign is None or cell.file:
            file = cell.file or str(self.night.path / TARGETS / f"{cell.name}.toml")
            return file, _line_in_target(file)
        file = self.night.plan.file or str(self.night.path / CAMPAIGN)
        return file, next(filter(None, map(self.lines.get, self._keys(cell, self.campaign))), 1)

    def _keys(self, cell: CampaignCell, campaign: campaign_file.Campaign) -> Iterator[Key]:
        """The keys that may have selected a cell, the most probable first."""
        for at, matrix in enumerate(campaign.matrix):
            if cell.lock in matrix.lock and cell.storage in matrix.storage and cell.faults in matrix.faults:
                yield ("matrix", at, "lock")
        for at, cells in enumerate(campaign.cells):
            if any(fnmatch.fnmatchcase(cell.name, word) for word in cells.targets):
                yield ("cells", at, "targets")


def _line_in_target(file: str) -> int:
    """The line of `expect`, or else of the storage; 1 if the file is gone."""
    try:
        lines = parse(path_of(file)).lines
    except ConfigurationError:
        return 1
    return lines.get(("expect",)) or lines.get(("storage",), 1)

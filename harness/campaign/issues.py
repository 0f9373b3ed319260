"""What a night found, one issue for each fingerprint, with the line of the file that it belongs to.

A cell of a user's own target file belongs to that file; any other to the campaign file, or where
shards were joined without one, to the target in the folder of the night.
"""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from checkers.text.printable import line
from harness.campaign import campaign_file
from harness.campaign.assessment import Assessment
from harness.campaign.cells import CampaignCell
from harness.campaign.execution import TARGETS
from harness.campaign.night import CAMPAIGN, Night
from harness.campaign.status import RunOutcome
from harness.core.errors import ConfigurationError
from harness.core.paths import path_of
from harness.files import received
from harness.report.sentences import capitalized
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
            cell, (file, line) = result.cell.name, places.of_cell(result.cell)
            undecided = hashlib.sha256(f"{cell}\n{run.outcome}".encode()).hexdigest()[:12]
            shape, said = run.fingerprint or undecided, run.headline
            issue = Issue(
                outcome=run.outcome, cell=cell, sentence=said, fingerprint=shape, file=file, line=line
            )
            found.setdefault(shape, issue)
    return tuple(found.values())


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


_SEVERITIES: Mapping[RunOutcome, str] = {
    RunOutcome.FAILED: "critical",
    RunOutcome.INFRASTRUCTURE: "major",
    RunOutcome.NOT_JUDGED: "minor",
    RunOutcome.UNKNOWN: "minor",
    RunOutcome.QUARANTINED: "info",
}


def code_quality(found: Iterable[Issue], root: PurePath) -> list[dict[str, Any]]:
    """Return code-quality.json for GitLab; its paths are relative to `root`, the checked-out repository."""
    return [
        {
            "description": line(f"{issue.cell}: {issue.sentence}"),
            "check_name": f"fencepost-{issue.outcome}",
            "fingerprint": issue.fingerprint,
            "severity": _SEVERITIES[issue.outcome],
            "location": {"path": relative(issue.file, root), "lines": {"begin": issue.line}},
        }
        for issue in found
    ]


def relative(file: str, root: PurePath) -> str:
    """Return a file as seen from a folder above it; other files stay as they are."""
    path = PurePath(file)
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


MOST_BYTES = 1_000_000
"""Of a summary: GitHub refuses more than 1 MiB of a step."""
_CUT = "\n\nThe rest is in `summary.md` of the night.\n"


def annotate(found: Iterable[Issue], root: PurePath, *, allow_unknown: bool) -> Iterator[str]:
    """Yield workflow commands such as `::error file=mine.toml,line=3,title=…::…`."""
    for issue in found:
        command = "notice" if issue.outcome is RunOutcome.QUARANTINED else "error"
        if allow_unknown and issue.outcome in {RunOutcome.UNKNOWN, RunOutcome.NOT_JUDGED}:
            command = "warning"
        properties = {
            "file": relative(issue.file, root),
            "line": str(issue.line),
            "title": f"{issue.cell}: {issue.outcome}",
        }
        shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        yield f"::{command} {shown}::{_data(issue.sentence)}"


def warn(assessment: Assessment) -> Iterator[str]:
    """Yield a warning for each notice about the night as a whole."""
    for notice in assessment.notices:
        yield f"::warning title={_property(assessment.plan.campaign)}::{_data(capitalized(notice))}"


def append_summary(file: Path, markdown: str) -> None:
    """Add the Markdown of a night to the summary of a job, cut to the length that GitHub accepts."""
    kept = markdown.encode()
    if len(kept) > MOST_BYTES:
        kept = kept[:MOST_BYTES].rpartition(b"\n")[0] + _CUT.encode()
    with file.open("ab") as summary:
        summary.write(kept + b"\n")


def _data(text: str) -> str:
    """Escape as GitHub's own toolkit does; a line has no CR or LF that it would escape as well."""
    return line(text).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

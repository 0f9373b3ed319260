"""A night for GitHub Actions: annotations on the lines of files, and the job's summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath

from checkers.text.printable import line
from harness.campaign.assessment import Assessment
from harness.campaign.code_quality import relative
from harness.campaign.issues import Issue
from harness.campaign.status import RunOutcome
from harness.report.sentences import capitalized

MOST_BYTES = 1_000_000
"""Of a summary: GitHub refuses more than 1 MiB of a step."""
_CUT = "\n\nThe rest is in `summary.md` of the night.\n"

_COMMANDS: Mapping[RunOutcome, str] = {
    RunOutcome.FAILED: "error",
    RunOutcome.INFRASTRUCTURE: "error",
    RunOutcome.UNKNOWN: "error",
    RunOutcome.NOT_JUDGED: "error",
    RunOutcome.QUARANTINED: "notice",
}


def annotate(found: Iterable[Issue], root: PurePath, *, allow_unknown: bool) -> Iterator[str]:
    """Yield workflow commands such as `::error file=mine.toml,line=3,title=…::…`."""
    for issue in found:
        command = _COMMANDS[issue.outcome]
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
        yield f"::warning title={_property(assessment.campaign)}::{_data(capitalized(notice))}"


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

"""code-quality.json: the issues of a night as GitLab shows them in merge requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from checkers.text.printable import line
from harness.campaign.issues import Issue
from harness.campaign.status import RunOutcome

_SEVERITIES: Mapping[RunOutcome, str] = {
    RunOutcome.FAILED: "critical",
    RunOutcome.INFRASTRUCTURE: "major",
    RunOutcome.NOT_JUDGED: "minor",
    RunOutcome.UNKNOWN: "minor",
    RunOutcome.QUARANTINED: "info",
}


def code_quality(found: Iterable[Issue], root: PurePath) -> list[dict[str, Any]]:
    """Return the document; the paths in it are relative to `root`, the checked-out repository."""
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

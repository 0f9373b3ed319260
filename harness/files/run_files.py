"""Reading the files of a run folder, maybe a stranger's, within the limits of `checkers.text.limits`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from checkers.text import limits
from checkers.text.errors import HistoryError
from harness.files import received
from harness.files.run_folder import COMMITS, HEADER, HISTORY, PLAN, VERDICT, RunFolder

ENVIRONMENT = "environment.json"
ORDER_OF_WRITES = "order_of_writes"
"""The key in environment.json of a run that read its storage's order of writes: the name of that file."""
TARGET = "target.toml"
REPORT = "report.html"

MOST = {
    HISTORY: limits.HISTORY,
    COMMITS: limits.COMMITS,
    VERDICT: limits.VERDICT,
    REPORT: limits.REPORT,
    HEADER: limits.DOCUMENT,
    PLAN: limits.DOCUMENT,
    ENVIRONMENT: limits.DOCUMENT,
    TARGET: limits.DOCUMENT,
}
"""The maximum size of each file in bytes."""
_REMEDY = {
    HISTORY: limits.SPLIT,
    VERDICT: "use the output of `fencepost recheck` instead",
    REPORT: "remove it: `fencepost show` rewrites it",
}
_REPORT_WITHOUT = "no run writes that much; remove it: the report does not need it"


def check(folder: Path) -> None:
    """Check all files of a run before one is read; HistoryError for a pipe, device, link, or too large."""
    for name in MOST:
        has(folder, name)
    RunFolder(folder).recordings()


def content(folder: Path, name: str) -> bytes | None:
    """Read a file of a run; None if it does not exist. HistoryError unless regular and within its limits."""
    read = received.read_json if name.endswith(".json") else received.read
    return read(folder, name, most=MOST[name], remedy=_remedy(name))


def has(folder: Path, name: str) -> bool:
    """Does a run have this file? HistoryError if there is something else, or it is too large."""
    return received.size(folder, name, most=MOST[name], remedy=_remedy(name)) is not None


def text(folder: Path, name: str) -> str | None:
    """Read a file as text."""
    raw = content(folder, name)
    return None if raw is None else raw.decode(errors="replace")


def document(folder: Path, name: str) -> dict[str, Any]:
    """Read a JSON object; empty if it is missing or not readable."""
    try:
        read = json.loads(content(folder, name) or "{}")
    except (HistoryError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _remedy(name: str) -> str:
    return _REMEDY.get(name, _REPORT_WITHOUT)

"""Reading the files of a run folder, which may come from a stranger, within limits.

`checkers.history.limits` has the maximum sizes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checkers.errors import HistoryError
from checkers.history import files, limits
from harness.files.run_folder import COMMITS, EVENTS, HEADER, HISTORY, PLAN, VERDICT

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
    """Check every file that would be read from a run's folder, before any of them is read.

    Raises:
        HistoryError: a file is a pipe, a device, a link that leads out of the folder, or too large.
    """
    for name in MOST:
        _check(folder, name)
    _check_events(folder)


def content(folder: Path, name: str) -> bytes | None:
    """Read a file of a run; None if it does not exist.

    Raises:
        HistoryError: it is not a regular file within its limit.
    """
    path = files.inside(folder, name)
    if not os.path.lexists(path):
        return None
    return files.read_bytes(path, MOST[name], _remedy(name))


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


def _check(folder: Path, name: str) -> int:
    """Check one file, and return its size."""
    path = files.inside(folder, name)
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0
    files.check(found, str(path), MOST.get(name, limits.HISTORY), _remedy(name))
    return found.st_size


def _check_events(folder: Path) -> None:
    files.inside(folder, EVENTS)
    total = 0
    for number, part in enumerate(_names(folder / EVENTS), start=1):
        total += _check(folder, f"{EVENTS}/{part}")
        if number > limits.EVENT_FILES:
            problem = f"it has more than {limits.EVENT_FILES:,} files, but a run has one for each process"
            raise HistoryError(str(folder / EVENTS), 0, f"{problem}; it is not from a run")
    if total > limits.HISTORY:
        problem = f"its files have {limits.described(total)}, but at most {limits.described(limits.HISTORY)}"
        raise HistoryError(str(folder / EVENTS), 0, f"{problem} are read; {limits.SPLIT}")


def _names(events: Path) -> Iterator[str]:
    if events.is_dir():
        with os.scandir(events) as found:
            yield from (each.name for each in found if each.name.endswith(".jsonl"))


def _remedy(name: str) -> str:
    return limits.SPLIT if name.startswith(EVENTS) else _REMEDY.get(name, _REPORT_WITHOUT)

"""The files in a run's folder, which a stranger may have made: what is read of them, and what is refused.

See `checkers.history.limits` for how large each may be.
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
"""How many bytes each file may have."""
_REMEDY = {
    HISTORY: limits.SPLIT,
    VERDICT: "look at what `fencepost recheck` prints",
    REPORT: "remove it: `fencepost show` writes it again",
}
_REPORT_WITHOUT = "no run of ours writes so much; remove it: the report does without"


def check(folder: Path) -> None:
    """Look at all that would be read of a run's folder, before any of it is.

    Raises:
        HistoryError: there is a pipe, a device, a link that leads out of it, or too large a file.
    """
    for name in MOST:
        _check(folder, name)
    _check_events(folder)


def content(folder: Path, name: str) -> bytes | None:
    """Read a file of a run; None if it is not there.

    Raises:
        HistoryError: it is not as files of a run are.
    """
    path = files.inside(folder, name)
    if not os.path.lexists(path):
        return None
    return files.read_bytes(path, MOST[name], _remedy(name))


def text(folder: Path, name: str) -> str | None:
    """The same, as text."""
    raw = content(folder, name)
    return None if raw is None else raw.decode(errors="replace")


def document(folder: Path, name: str) -> dict[str, Any]:
    """Read a JSON object; empty where there is none that can be read."""
    try:
        read = json.loads(content(folder, name) or "{}")
    except (HistoryError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _check(folder: Path, name: str) -> int:
    """Check one file, and give its size."""
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
            problem = f"it has more than {limits.EVENT_FILES:,} files, and a run has one for each process"
            raise HistoryError(str(folder / EVENTS), 0, f"{problem}; this is no run of ours")
    if total > limits.HISTORY:
        problem = f"its files have {limits.described(total)}, and at most {limits.described(limits.HISTORY)}"
        raise HistoryError(str(folder / EVENTS), 0, f"{problem} are read; {limits.SPLIT}")


def _names(events: Path) -> Iterator[str]:
    if events.is_dir():
        with os.scandir(events) as found:
            yield from (each.name for each in found if each.name.endswith(".jsonl"))


def _remedy(name: str) -> str:
    return limits.SPLIT if name.startswith(EVENTS) else _REMEDY.get(name, _REPORT_WITHOUT)

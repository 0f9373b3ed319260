"""How to repeat a run: one line with everything that determines its schedule of faults."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path, PurePath

from checkers.errors import HistoryError
from checkers.history import limits
from checkers.history.files import read_bytes
from harness.core.invocation import again
from harness.files import run_files
from harness.files.environment import repetition_in
from harness.files.run_folder import PLAN

_DIGITS = 12  # of a digest


def digest(plan: Path) -> str | None:
    """Name the schedule of faults in a plan.json: it is the same for every run of a target with a seed."""
    try:
        schedule = json.loads(read_bytes(plan, limits.DOCUMENT))["planned"]
    except (HistoryError, ValueError, KeyError, TypeError):
        return None
    return hashlib.sha256(json.dumps(schedule, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def with_target(line: str, target: Path) -> str:
    """Change the line that repeats a run to another file with the same target."""
    words = shlex.split(line, comments=True)
    was = next((word for word in words if PurePath(word).name == run_files.TARGET), None)
    return line.replace(shlex.quote(was), shlex.quote(str(target.absolute())), 1) if was else line


def replay(folder: Path, seed: int, *, version: str, commit: str | None, within: Path | None = None) -> str:
    """Write the command that repeats a run, and after a `#` its plan, version and commit.

    It works in any folder, or in `within` if that is given and the run needs no other folder.
    """
    how, target = repetition_in(folder), folder / run_files.TARGET
    command = again(str(target.relative_to(within)) if within and not how.folder else target, seed, how)
    facts = [f"plan {digest(folder / PLAN) or 'unknown'}", f"fencepost {version}"]
    return f"{command}  # {', '.join([*facts, *([f'commit {commit}'] if commit else [])])}"

"""The environment of a run, to reproduce it: versions, the machine, the commit."""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from harness.core.invocation import NO_FAULTS, Repetition
from harness.core.paths import is_file
from harness.files import run_files

_OURS = Path(__file__).relative_to(Path(__file__).parents[2])
_ENGINES = (("--engine", "docker"), ("--engine", "local"))


def environment(
    cluster: dict[str, Any], command: Sequence[str], again: Sequence[str], *, own_code: bool
) -> dict[str, Any]:
    """Describe the harness, the machine and the cluster, for environment.json.

    `own_code`: the target names files or modules that are found from the current folder.
    """
    how = repetition_here(again, own_code=own_code)
    place = {"folder": how.folder, "pythonpath": how.python_path}
    return {
        **cluster,
        "fencepost": metadata.version("fencepost"),
        "git_commit": git_commit(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "kernel": f"{platform.system()} {platform.release()}",
        "cpus": os.cpu_count(),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": list(command),
        "again": list(again),
        **{key: value for key, value in place.items() if value},
    }


def about_program(words: Sequence[str], versions: Mapping[str, str]) -> dict[str, Any]:
    """Describe the user's program: the versions that it names, and the digest of each file of its command."""
    files = [Path(found) for word in words if (found := shutil.which(word) or word) and is_file(found)]
    return {"versions": dict(versions), "files": {str(file): _digest(file) for file in files}}


def _digest(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"
    except OSError as error:
        return f"not readable: {error.strerror}"


def repetition_here(again: Sequence[str], *, own_code: bool) -> Repetition:
    """Return what is needed to repeat a run that starts in this folder."""
    if not own_code:
        return Repetition(options=tuple(again))
    found_in = os.environ.get("PYTHONPATH", "")
    return Repetition(options=tuple(again), folder=str(Path.cwd()), python_path=found_in)


def repetition_of(recorded: Mapping[str, Any]) -> Repetition:
    """Return what is needed to repeat a run, from its environment.json."""
    again, folder, found_in = (recorded.get(key) for key in ("again", "folder", "pythonpath"))
    return Repetition(
        options=known_options(again) if isinstance(again, list) else (),
        folder=folder if isinstance(folder, str) else "",
        python_path=found_in if isinstance(found_in, str) else "",
    )


def known_options(words: Sequence[object]) -> tuple[str, ...]:
    """Return the options that runs record; others may come from a stranger: --set could name a program."""
    engines = [pair for pair in itertools.pairwise(words) if pair in _ENGINES]
    return (*(str(word) for word in next(iter(engines), ())), *[NO_FAULTS] * (NO_FAULTS in words))


def repetition_in(folder: Path) -> Repetition:
    """Like `repetition_of`, from a run's folder."""
    return repetition_of(run_files.document(folder, run_files.ENVIRONMENT))


def git_commit() -> str | None:
    """Return the commit of Fencepost's repository; None for a package that is not in it, or without git."""
    return _commit(Path(__file__).parent, ours=True)


def tested_commit() -> str | None:
    """Return the commit of the current folder's repository; None if that is Fencepost's, or there is none."""
    return _commit(Path.cwd(), ours=False)


def _commit(folder: Path, *, ours: bool) -> str | None:
    root = _git(folder, "rev-parse", "--show-toplevel")
    if root is None or is_file(Path(root) / _OURS) != ours:
        return None
    return _git(folder, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(folder: Path, *words: str) -> str | None:
    """Ask git about the repository of a folder, whose settings name no program that git starts."""
    if shutil.which("git") is None:
        return None
    command = ["git", "-c", "core.fsmonitor=false", *words]
    asked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return asked.stdout.strip() or None if asked.returncode == 0 else None

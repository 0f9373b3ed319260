"""The environment of a run, to reproduce it: versions, the machine, the commit."""

from __future__ import annotations

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

from harness.files import run_files


def environment(cluster: dict[str, Any], command: Sequence[str], again: Sequence[str] = ()) -> dict[str, Any]:
    """Describe the harness, the machine and the cluster, for environment.json."""
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
    }


def options_of(recorded: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the options that repeat a run, from its environment.json; empty if it has none."""
    again = recorded.get("again")
    return tuple(each for each in again if isinstance(each, str)) if isinstance(again, list) else ()


def options_in(folder: Path) -> tuple[str, ...]:
    """Like `options_of`, from a run's folder."""
    return options_of(run_files.document(folder, run_files.ENVIRONMENT))


def git_commit() -> str | None:
    """Return the commit of this checkout; None for an installed package, or without git."""
    if shutil.which("git") is None:
        return None
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or None if asked.returncode == 0 else None

"""Open a report in the user's browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from harness.core.printing import show as show_line
from harness.files import run_files
from harness.report.run import NAME, write


def show(run: Path, environment: Mapping[str, str] = os.environ) -> bool:
    """Open a run folder's report, and write it first if it is missing; `run` may be the report itself.

    Always prints its path. Returns whether a browser was asked to open it: without a display
    none is, because a browser in the terminal could not show it.
    """
    if run.is_dir():
        run_files.check(run)
    report = run / NAME if run.is_dir() else run
    if not report.exists() and run.is_dir():
        report = write(run)
    show_line(str(report))
    if not _display(environment):
        return False
    return webbrowser.open(report.resolve().as_uri())


def _display(environment: Mapping[str, str]) -> bool:
    if sys.platform != "linux":
        return True
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"))

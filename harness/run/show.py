"""Open a report in the user's browser. Only a page that this machine wrote is opened as it is."""

from __future__ import annotations

import hashlib
import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from harness.core.printing import say
from harness.core.printing import show as show_line
from harness.files import run_files
from harness.files.known_digests import KnownDigest, is_known
from harness.files.private_folder import others_can_replace
from harness.files.user_folders import keep_page
from harness.report import run as report
from harness.report.recorded_run import Parsed, load
from harness.run.recheck import Stage, ignore, judge_recording, open_for_judging


def show(run: Path, stage: Stage = ignore, environment: Mapping[str, str] = os.environ) -> bool:
    """Open the report in a run's folder, or one drawn from its history if that report was not written here.

    Always prints its path. Returns whether a browser was asked to open it: without a display
    none is, because a browser in the terminal could not show it.
    """
    run_files.check(run)
    page = _our_own(run) or _drawn(run, stage)
    show_line(str(page))
    displays = ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    if sys.platform == "linux" and not any(environment.get(name) for name in displays):
        return False
    return webbrowser.open(page.resolve().as_uri())


def _our_own(run: Path) -> Path | None:
    """Return the page in a run's folder if this machine wrote it; a copy, if it could be replaced by now."""
    content = run_files.content(run, run_files.REPORT)
    if content is None or not is_known(KnownDigest.PAGES, hashlib.sha256(content).hexdigest()):
        return None
    page = run / run_files.REPORT
    return keep_page(content.decode()) if others_can_replace(page) else page


def _drawn(run: Path, stage: Stage) -> Path:
    """Judge a run's history, and draw that into the user's cache folder."""
    with open_for_judging(run):
        judged = judge_recording(run, stage)
        stage("drawing the report")
        parsed = Parsed(verdict=judged.document, history=judged.history, commits=judged.commits)
        page = keep_page(report.drawn(load(run, parsed)))
    say(f"{run} has no {run_files.REPORT} that this machine wrote: its history was judged, and drawn here")
    return page

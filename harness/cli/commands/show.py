"""`fencepost show`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from harness.cli.options import RUNS


@click.command(short_help="Open the report of a run.")
@click.argument("recorded", metavar="RUN")
@RUNS
def show(recorded: str, runs: Path) -> None:
    """Open the report of a run: its folder, or a target's name for its newest run.

    A page that Fencepost did not write on this machine is not opened: the history is judged and drawn again.
    """
    from harness.cli.progress import progress
    from harness.cli.selection import run_folder
    from harness.run.show import show as open_report

    with progress(sys.stderr) as stage:
        open_report(run_folder(recorded, runs), stage)

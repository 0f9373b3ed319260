"""`fencepost show`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import RUNS


@click.command(short_help="Open the report of a run.")
@click.argument("recorded", metavar="RUN")
@RUNS
def show(recorded: str, runs: Path) -> None:
    """Open the report of a run: its folder, or a target's name for its newest run."""
    from harness.cli.selection import run_folder
    from harness.report.show import show as open_report

    open_report(run_folder(recorded, runs))

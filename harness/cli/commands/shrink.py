"""`fencepost shrink`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from harness.cli.options import ENGINE, RUNS, TRUST, max_time_option, with_default


@click.command(short_help="Reduce a failing run to a minimal one.")
@click.argument("recorded", metavar="RUN")
@click.option("--no-runs", is_flag=True, help="Shrink only the history: start no servers.")
@with_default(
    "--repeat",
    default=20,
    type=click.IntRange(min=1),
    help="How often the smallest target runs, to tell how often it fails.",
)
@max_time_option("Start no further run after this time.")
@ENGINE
@RUNS
@TRUST
def shrink(
    recorded: str,
    no_runs: bool,
    repeat: int,
    max_time: float,
    engine: Literal["auto", "docker", "local"],
    runs: Path,
    trust: bool,
) -> int:
    """Reduce a run with a violation: its history to an excerpt, its target to the fewest faults and clients.

    Writes minimal.jsonl, minimal-commits.jsonl, minimal.toml and minimal-plan.json into the run's
    folder; the runs that this takes are in its folder minimal-runs.
    """
    from harness.cli.selection import run_folder
    from harness.cli.shrink_run import shrink_history, shrink_target, trusted_target

    run = run_folder(recorded, runs).resolve()
    if no_runs:
        shrink_history(run)
        return 0
    trusted = trusted_target(run, trust=trust)
    shrink_target(run, shrink_history(run), engine, trusted, repeat=repeat, seconds=max_time)
    return 0

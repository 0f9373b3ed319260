"""`fencepost zoo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from harness.cli.options import ENGINE, RUNS, SEED, format_option
from harness.cli.output import documents, text_stream
from harness.core.printing import say


@click.command(short_help="Run planted bugs and their correct twins.")
@click.argument("names", metavar="[BUG]...", nargs=-1)
@ENGINE
@SEED
@format_option("one bug per line on stdout, the rest on stderr.")
@RUNS
def zoo(
    names: tuple[str, ...],
    engine: Literal["auto", "docker", "local"],
    seed: int | None,
    output: str,
    runs: Path,
) -> int:
    """Run the planted bugs, all or some, each with its correct twin.

    Every bug must be caught and every twin clean; otherwise the exit code is 1.
    """
    from harness.cli.zoo_exhibits import exhibits, show_all
    from harness.engines.choice import choose
    from harness.run.runner import RunOptions

    chosen = exhibits(names)
    used = choose(engine, say)
    again = ("--engine", used.name)
    options = RunOptions(seed=seed, runs=runs, command=("fencepost", *sys.argv[1:]), again=again)
    return show_all(chosen, used, options, text=text_stream(output), shown=documents(output))

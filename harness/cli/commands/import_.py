"""`fencepost import`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import FORCE, HISTORY, OUTPUT, RUNS, model_option
from harness.cli.output import write_lines


@click.command("import", short_help="Write another tool's history as ours.")
@HISTORY
@model_option(required=True, means="What object the history is about:")
@OUTPUT
@FORCE
@RUNS
def import_(history: str, model: str, file: Path, force: bool, runs: Path) -> None:
    """Write another tool's history as a history.jsonl: a lock with tokens, or a register."""
    from harness.cli.foreign_histories import import_history
    from harness.cli.selection import history_file

    write_lines(file, import_history(history_file(history, runs), model), force=force)

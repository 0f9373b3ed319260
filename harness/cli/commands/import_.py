"""`fencepost import`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import FORCE, HISTORY, INITIAL, OUTPUT, RUNS, model_option
from harness.cli.output import write_lines


@click.command("import", short_help="Convert another tool's history.")
@HISTORY
@model_option(required=True, means="The object in the history:")
@INITIAL
@OUTPUT
@FORCE
@RUNS
def import_(history: str, model: str, initial: str | None, file: Path, force: bool, runs: Path) -> None:
    """Convert another tool's history to a history.jsonl: a lock with tokens, or a register."""
    from harness.cli.foreign_histories import import_history
    from harness.cli.selection import any_history

    write_lines(file, lambda: import_history(any_history(history, runs), model, initial), force=force)

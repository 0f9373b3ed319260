"""`fencepost export`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import FORCE, HISTORY, OUTPUT, RUNS, model_option
from harness.cli.output import write_lines


@click.command("export", short_help="Write a history for another tool.")
@HISTORY
@click.option("--to", "form", required=True, type=click.Choice(["jepsen-edn", "porcupine-etcd"]))
@model_option(required=False, means="Only the operations of this object:")
@click.option("--key", help="Only what is about this resource or key.")
@OUTPUT
@FORCE
@RUNS
def export(
    history: str, form: str, model: str | None, key: str | None, file: Path, force: bool, runs: Path
) -> None:
    """Write a history, ours or another tool's, as Jepsen or Porcupine would."""
    from harness.cli.foreign_histories import export_history
    from harness.cli.selection import history_file

    write_lines(file, export_history(history_file(history, runs), form, model, key), force=force)

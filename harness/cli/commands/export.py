"""`fencepost export`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from harness.cli.options import FORCE, HISTORY, INITIAL, OUTPUT, RUNS, model_option
from harness.cli.output import write_lines


@click.command("export", short_help="Convert a history for another tool.")
@HISTORY
@click.option("--to", "form", required=True, type=click.Choice(["jepsen-edn", "porcupine-etcd"]))
@model_option(required=False, means="Only the operations of this object:")
@click.option("--key", help="Only the operations of this resource or key.")
@INITIAL
@OUTPUT
@FORCE
@RUNS
def export(
    history: str,
    form: str,
    model: str | None,
    key: str | None,
    initial: str | None,
    file: Path,
    force: bool,
    runs: Path,
) -> None:
    """Convert a history, Fencepost's or another tool's, to Jepsen's or Porcupine's format."""
    from harness.cli.foreign_histories import export_history
    from harness.cli.selection import any_history

    def lines() -> Iterator[str]:
        return export_history(any_history(history, runs), form, model, key, initial)

    write_lines(file, lines, force=force)

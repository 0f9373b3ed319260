"""`fencepost recheck`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import FORMAT, INITIAL, RUNS, VERBOSE, model_option
from harness.cli.output import documents, text_stream


@click.command(short_help="Judge a recorded run or history again.")
@click.argument("recorded", metavar="RUN|HISTORY")
@click.option(
    "--commits",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The storage's own order of accepted writes, unless it is next to the history.",
)
@model_option(required=False, means="Judge the history of any tool by one of these models:")
@INITIAL
@VERBOSE
@FORMAT
@RUNS
def recheck(
    recorded: str,
    commits: Path | None,
    model: str | None,
    initial: str | None,
    verbose: bool,
    output: str,
    runs: Path,
) -> int:
    """Judge a recorded history again: a run, or a history file. Needs no server.

    With --model, also judge histories of Jepsen (EDN, JSON), Knossos and Porcupine: a file, - for standard
    input, or a folder with one, such as those of Jepsen's store/.
    """
    from harness.cli.selection import (
        STANDARD_INPUT,
        any_history,
        file_or_folder,
        foreign_history,
        history_of,
        is_run,
    )
    from harness.core.errors import ConfigurationError

    if model is not None:
        from harness.cli.foreign_histories import recheck_by_model

        if commits is not None:
            raise ConfigurationError(
                "--commits does not work with --model: a model has no commit log; drop one of them"
            )
        path = any_history(recorded, runs)
        return recheck_by_model(
            path, model, initial, verbose=verbose, text=text_stream(output), judged=documents(output)
        )
    from harness.cli.recheck_history import recheck_and_print

    if initial is not None:
        raise ConfigurationError("--initial goes with --model: a Fencepost history has its own initial value")
    if recorded == str(STANDARD_INPUT):
        raise ConfigurationError("standard input is read with --model; without, name a run or a file")
    path = file_or_folder(recorded, runs)
    if path.is_dir() and not is_run(path):
        path = foreign_history(path) or history_of(path)  # another tool's says how to judge it
    return recheck_and_print(
        path, commits, verbose=verbose, text=text_stream(output), judged=documents(output)
    )

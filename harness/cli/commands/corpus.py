"""`fencepost corpus`."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import RUNS, as_path, folder_option
from harness.core.printing import say, show

FOLDER = "corpus"


@click.group(short_help="Keep verdicts on recorded runs from changing.")
def corpus() -> None:
    """Keep recorded runs with the verdict that each must have, and judge them again in seconds."""


@corpus.command(short_help="Store a run with its verdict.")
@click.argument("recorded", metavar="RUN")
@folder_option(FOLDER, "The folder of the corpus.", "folder")
@RUNS
def add(recorded: str, folder: Path, runs: Path) -> None:
    """Store a run: its verdict, its plan, and the lines that prove its first finding (or all lines)."""
    from harness.campaign import corpus as entries
    from harness.cli.selection import history_of, run_folder

    added = entries.add(history_of(run_folder(recorded, runs)).resolve().parent, folder)
    expected = entries.read_expected(added)
    size = sum(file.stat().st_size for file in added.iterdir())
    what = "the proof of its first finding" if expected.minimal else "its whole history"
    show(f"{added}: {expected.verdict}, {what}, {size:,} bytes")


@corpus.command(short_help="Judge all stored runs again.")
@click.argument("folder", metavar="[DIR]", default=FOLDER, type=click.Path(path_type=Path), callback=as_path)
def check(folder: Path) -> int:
    """Judge every stored run again, without a server; the exit code is 1 if a verdict has changed."""
    from harness.campaign import corpus as entries
    from harness.core.exit_codes import ExitCode, of_several

    codes = []
    for checked in entries.check(folder):
        if checked.error:
            say(checked.error)
            codes.append(ExitCode.CONFIGURATION)
        elif checked.change:
            show(f"{checked.path}: {checked.change}")
            codes.append(ExitCode.VIOLATION)
        else:
            codes.append(ExitCode.AS_EXPECTED)
    if not codes:
        say(f"{folder} has no entries: add one with `fencepost corpus add RUN`")
    else:
        show(f"{codes.count(ExitCode.AS_EXPECTED)} of {len(codes)} verdicts are unchanged")
    return of_several(codes)

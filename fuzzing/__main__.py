"""The command `python -m fuzzing`: exit code 1 if something was found."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import click

from fuzzing import guided
from fuzzing.campaign import campaign
from fuzzing.hostile import ATTACKS
from fuzzing.surfaces import SURFACES


@click.command()
@click.argument("names", metavar="[SURFACE]...", nargs=-1, type=click.Choice([*SURFACES, *ATTACKS]))
@click.option(
    "--seconds", type=float, help="Stop after this many seconds. Default: 60, unless --cases is given."
)
@click.option("--cases", type=int, help="Stop after this many cases.")
@click.option("--seed", type=int, help="Draw the same cases again.")
@click.option(
    "--atheris", "by_coverage", type=float, default=0, help="Then fuzz this many seconds under Atheris."
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    default="fuzz-findings",
    show_default=True,
    help="The folder for failing input.",
)
def main(
    names: tuple[str, ...],
    seconds: float | None,
    cases: int | None,
    seed: int | None,
    by_coverage: float,
    keep: Path,
) -> None:
    """Feed hostile input to everything that reads untrusted data."""
    seed = random.randrange(10**9) if seed is None else seed
    if seconds is None and cases is None:
        seconds = 60
    click.echo(f"seed {seed}")
    tally = campaign(names or (*SURFACES, *ATTACKS), seed, keep.absolute(), cases=cases, seconds=seconds)
    for finding in tally.findings:
        click.echo(f"FOUND {finding}")
    click.echo(str(tally))
    held = _by_coverage(by_coverage, keep.absolute())
    if tally.findings or not held:
        click.echo(f"failing input is in {keep}")
        sys.exit(1)


def _by_coverage(seconds: float, keep: Path) -> bool:
    """Fuzz each reader under Atheris for its share of the time; return whether all passed."""
    if seconds and (why_not := guided.missing()):
        click.echo(f"skipped: {why_not}")
    elif seconds:
        share = seconds / len(guided.READERS)
        failed = [reader for reader in guided.READERS if not guided.fuzz(reader, share, keep)]
        return not failed
    return True


if __name__ == "__main__":
    main()

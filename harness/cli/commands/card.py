"""`fencepost card`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import click

from harness.cli.options import ENGINE, FORMATS, OVERRIDES, SEED, as_path
from harness.cli.output import text_stream
from harness.core.printing import say


@click.command(short_help="Judge a lock library by a fixed series of runs.")
@click.argument("command")
@click.option("--lock", metavar="KIND", required=True, help="The lock service that it uses: redis, etcd, …")
@click.option("--storage", metavar="KIND", default="postgres", show_default=True, help="What it protects.")
@click.option(
    "--fencing",
    metavar="NAME",
    default="conditional-update",
    show_default=True,
    help="How the storage fences writes in the fenced runs.",
)
@click.option("--no-token", is_flag=True, help="It gives no fencing token: leave out the fenced runs.")
@click.option("--name", help="Its name on the card. Default: the program's name.")
@click.option(
    "--duration",
    metavar="TIME",
    default="10s",
    show_default=True,
    help="Of each run; a restart or a failover gets four times as long.",
)
@click.option(
    "--only",
    metavar="RUN",
    multiple=True,
    help="Make only this run of the series, such as pause-acquired-fenced (repeatable).",
)
@click.option(
    "--cards",
    default="cards",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    callback=as_path,
    help="The folder for the card's own folder, with its runs.",
)
@click.option(
    "--format",
    "output",
    default="text",
    type=FORMATS,
    help="json: the card on stdout, everything else on stderr.",
)
@OVERRIDES
@ENGINE
@SEED
def card(
    command: str,
    lock: str,
    storage: str,
    fencing: str,
    no_token: bool,
    name: str | None,
    duration: str,
    only: tuple[str, ...],
    cards: Path,
    output: str,
    overrides: tuple[str, ...],
    engine: Literal["auto", "docker", "local"],
    seed: int | None,
) -> int:
    """Run a fixed series against COMMAND, a lock behind the line protocol, and print its card.

    COMMAND is the program with its arguments, as one word: "python3 my_lock.py". The series has no
    fault first; then a holder paused at each stop point, without a fence and with one; the lock
    service cut off, its messages held back, its server restarted, and failed over where it can.
    """
    from harness.card.series import Subject
    from harness.cli.make_card import make_card, name_of
    from harness.engines.choice import choose
    from harness.run.runner import RunOptions

    subject = Subject(
        name=name or name_of(command),
        command=command,
        lock=lock,
        storage=storage,
        fencing=fencing,
        duration=duration,
        gives_token=not no_token,
        overrides=overrides,
    )
    chosen = choose(engine, say)
    options = RunOptions(seed=seed, command=("fencepost", *sys.argv[1:]), again=("--engine", chosen.name))
    return make_card(
        subject, chosen, options, cards, only, text=text_stream(output), as_json=output == "json"
    )

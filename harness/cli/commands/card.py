"""`fencepost card`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

import click

from harness.cli.options import ENGINE, OVERRIDES, SEED, folder_option, format_option, with_default
from harness.cli.output import text_stream
from harness.core.printing import say


@click.command(short_help="Judge a lock library by a fixed series of runs.")
@click.argument("command")
@click.option("--lock", metavar="KIND", required=True, help="The lock service that it uses: redis, etcd, …")
@with_default("--storage", metavar="KIND", default="postgres", help="What it protects.")
@with_default(
    "--fencing",
    metavar="NAME",
    default="conditional-update",
    help="How the storage fences writes in the fenced runs.",
)
@click.option("--no-token", is_flag=True, help="It gives no fencing token: leave out the fenced runs.")
@click.option("--name", help="Its name on the card. Default: the program's name.")
@with_default(
    "--duration",
    metavar="TIME",
    default="10s",
    help="Of each run; the walk through all dangerous moments and the runs with stops, a restart or a"
    " failover get four times as long.",
)
@click.option(
    "--only",
    metavar="RUN",
    multiple=True,
    help="Make only this run or play, such as pause-acquired-fenced or held-longer (repeatable).",
)
@click.option(
    "--versions",
    metavar="NAME=A,B,…",
    help="Make cards of these releases of a library, oldest first, to find which one changed an answer.",
)
@click.option(
    "--install",
    metavar="COMMAND",
    default="",
    help="How a release is installed: {version} is its place, here and in COMMAND.",
)
@folder_option("cards", "The folder for the card's own folder, with its runs.")
@format_option("the card on stdout, everything else on stderr.")
@OVERRIDES
@ENGINE
@SEED
def card(
    command: str,
    no_token: bool,
    name: str | None,
    only: tuple[str, ...],
    versions: str | None,
    install: str,
    cards: Path,
    output: str,
    engine: Literal["auto", "docker", "local"],
    seed: int | None,
    **settings: Any,
) -> int:
    """Run a fixed series against COMMAND, a lock behind the line protocol, and print its card.

    COMMAND is the program with its arguments, as one word: "python3 my_lock.py". The series has no
    fault first; then a holder paused at each stop point, without a fence and with one; the lock
    service cut off, its messages held back, its server restarted, and failed over where it can.
    """
    from harness.card.by_release import Releases
    from harness.card.series import Subject
    from harness.cli.make_card import MadeCard, make_card, name_of
    from harness.cli.make_cards_by_release import make_cards
    from harness.core.printing import show_document
    from harness.engines.choice import choose
    from harness.run.runner import RunOptions

    if install and versions is None:
        raise click.UsageError("--install is for --versions: name the releases, oldest first")
    releases = None if versions is None else Releases.parsed(versions, install)
    name = name or name_of(command)
    subject = Subject(name=name, command=command, gives_token=not no_token, **settings)
    chosen = choose(engine, say)
    options = RunOptions(seed=seed, command=("fencepost", *sys.argv[1:]), again=("--engine", chosen.name))
    text, as_document = text_stream(output), output == "json"

    def make(one: Subject) -> MadeCard:
        return make_card(one, chosen, options, cards, only, text=text)

    if releases is not None:
        return make_cards(subject, releases, cards, make, text=text, as_document=as_document)
    made = make(subject)
    if as_document:
        show_document(made.document())
    return made.code

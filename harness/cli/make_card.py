"""Make the card of a lock library: a line for each run, then the answers, and the files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from harness.card.answers import NOT_MADE, NOT_PLAYED, answers
from harness.card.card import most_runs, planned, run_series
from harness.card.outputs import JSON, MARKDOWN, Card, document, result, write
from harness.card.plays import PlayResult, play
from harness.card.seen import Seen
from harness.card.series import Subject
from harness.card.words import MARKS
from harness.core import printing
from harness.core.events import Event, Notice
from harness.core.exit_codes import ExitCode
from harness.core.paths import as_seen_from_here, is_file
from harness.engines.engine import Engine
from harness.engines.reuse import ReusingEngine
from harness.files import dated_folders
from harness.processes.run_notes import temporary_folder
from harness.report.sentences import count
from harness.run.runner import RunOptions

RUNS = "runs"
LONGEST_NAME = 40  # characters; the names of its targets are longer
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._]+")


def name_of(command: str) -> str:
    """Name a lock after its program: redis_py for "python3 redis_py.py"."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    files = [word for word in words if is_file(word)]
    stem = Path((files or words or ["lock"])[-1 if files else 0]).stem
    return _NOT_IN_NAMES.sub("-", stem).strip("-._")[:LONGEST_NAME] or "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeCard:
    """A card, and where it is; exit code 3 if a run has no verdict."""

    card: Card
    folder: Path
    code: ExitCode

    def document(self) -> dict[str, Any]:
        """The card as plain data."""
        return document(self.card, self.folder)


def make_card(
    subject: Subject,
    engine: Engine,
    options: RunOptions,
    cards: Path,
    only: Sequence[str],
    *,
    text: TextIO,
) -> MadeCard:
    """Run the series, or `only` some of its runs, and print the card; an error or Ctrl-C leaves it so far."""
    noticed: set[str] = set()

    def show(event: Event) -> None:
        if isinstance(event, Notice) and event.text not in noticed:
            noticed.add(event.text)
            say(f"  {event.text}")

    def say(line: str) -> None:
        printing.show(line, to=text)

    experiments = planned(subject, engine, only)
    began = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    parent = cards / subject.name
    refused, remedy = f"{parent}: cannot hold the card", "name another folder with --cards"
    folder = dated_folders.create_or_say(parent, RUNS, refused=refused, remedy=remedy)
    options = replace(options, runs=folder / RUNS, notify=show)
    most = f"up to {count(most_runs(experiments), 'run')} of {subject.duration}" if experiments else "plays"
    say(f"{subject.name}: {most}, in {as_seen_from_here(folder)}")
    seen: list[Seen] = []
    played: list[PlayResult] = []
    try:
        with (
            temporary_folder() as home,
            closing(ReusingEngine(engine, home)) as reusing,
            closing(run_series(subject, experiments, reusing, options)) as runs,
        ):
            for each in runs:
                seen.append(each)
                say(f"  {each.experiment.name}: {result(each)}")
            for found in play(subject, reusing, only):
                played.append(found)
                say(f"  {found.play}: {found.word}")
    finally:
        card = Card(
            subject=subject,
            engine=engine.name,
            began=began,
            answers=answers(subject, seen, played),
            seen=seen,
            played=played,
        )
        if seen or played:
            write(card, folder)
    say("")
    shown = [answer for answer in card.answers if not only or answer.said not in {NOT_MADE, NOT_PLAYED}]
    width = max((len(answer.question) for answer in shown), default=0)
    for answer in shown:
        say(f"  {MARKS[answer.polarity]} {answer.question:{width}}  {answer.word}: {answer.said}")
    say("")
    say(f"  Markdown  {as_seen_from_here(folder / MARKDOWN)}")
    say(f"  JSON      {as_seen_from_here(folder / JSON)}")
    return MadeCard(card=card, folder=folder, code=exit_code(seen, played))


def exit_code(runs: Sequence[Seen], played: Sequence[PlayResult] = ()) -> ExitCode:
    """A run that failed is an infrastructure error; a lock that was never granted was not tested."""
    if any(each.failure for each in runs):
        return ExitCode.INFRASTRUCTURE
    if any(each.word != "not shown" for each in played):
        return ExitCode.AS_EXPECTED
    was_granted = any(each.grants_with_token or each.grants_without_token for each in runs)
    return ExitCode.AS_EXPECTED if was_granted else ExitCode.UNKNOWN

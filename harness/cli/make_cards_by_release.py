"""Make a card for each release of a library that tells something, and say which one changed an answer."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from msgspec import to_builtins

from checkers.text.printable import as_json
from harness.card.answers import AnsweredQuestion
from harness.card.by_release import PLACE, Releases, changes, markdown, next_to_make, notes, rows
from harness.card.series import Subject
from harness.cli.make_card import MadeCard
from harness.core import printing
from harness.core.errors import ConfigurationError, InfrastructureError
from harness.core.exit_codes import ExitCode, of_several
from harness.core.paths import as_seen_from_here
from harness.files import dated_folders
from harness.files.atomic_files import replace_file
from harness.files.logs import last_lines, open_log

RELEASES_MARKDOWN, RELEASES_JSON = "releases.md", "releases.json"
LOGS = "logs"
_SHOWN = 5  # last lines of a command that failed


def make_cards(
    subject: Subject,
    releases: Releases,
    cards: Path,
    make: Callable[[Subject], MadeCard],
    *,
    text: TextIO,
    as_document: bool,
) -> ExitCode:
    """Make the cards, and print the table; an error or Ctrl-C keeps what was made."""

    def say(line: str) -> None:
        printing.show(line, to=text)

    refused, remedy = f"{cards / subject.name}: cannot hold the table", "name another folder with --cards"
    folder = dated_folders.create_or_say(cards / subject.name, LOGS, refused=refused, remedy=remedy)
    made: dict[str, MadeCard] = {}
    try:
        while version := next_to_make(releases.versions, _answers(made)):
            _install(releases, version, folder / LOGS / f"{version}.log", say)
            name, command = f"{subject.name}-{version}", subject.command.replace(PLACE, version)
            made[version] = make(replace(subject, name=name, command=command))
            _expect_version(releases, version, made[version])
            say("")
    finally:
        if made:
            _write(releases, made, folder)
            _show(releases, made, say)
            say(f"  Markdown  {as_seen_from_here(folder / RELEASES_MARKDOWN)}")
            say(f"  JSON      {as_seen_from_here(folder / RELEASES_JSON)}")
    if as_document:
        printing.show_document(_document(releases, made))
    return of_several([each.code for each in made.values()])


def _answers(made: dict[str, MadeCard]) -> dict[str, tuple[AnsweredQuestion, ...]]:
    return {version: tuple(each.card.answers) for version, each in made.items()}


def _install(releases: Releases, version: str, log: Path, say: Callable[[str], None]) -> None:
    """Run the command that installs a release; InfrastructureError if it fails."""
    if not releases.install:
        return
    command = releases.install.replace(PLACE, version)
    say(f"{releases.library} {version}: {command}")
    try:
        with os.fdopen(open_log(log), "wb") as output:
            done = subprocess.run(shlex.split(command), stdout=output, stderr=output, check=False)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"--install {command}: {error}") from None
    if done.returncode:
        last = last_lines(log, _SHOWN)
        raise InfrastructureError(
            f"--install {command}: ended with exit code {done.returncode}",
            *last,
            heading=f"last lines in {log}:",
        )


def _expect_version(releases: Releases, version: str, made: MadeCard) -> None:
    """Raise ConfigurationError if the program runs another release than the installed one."""
    reported = made.card.versions.get(releases.library)
    if reported is None or reported.removeprefix("v") != version.removeprefix("v"):
        known = ", ".join(f"{name} {each}" for name, each in made.card.versions.items()) or "no versions"
        raise ConfigurationError(
            f"--versions: {releases.library} {version} was to be tested, but the program reports {known}: put"
            f" {PLACE} into its command or into --install, and let it name {releases.library} in `versions`"
        )


def _show(releases: Releases, made: dict[str, MadeCard], say: Callable[[str], None]) -> None:
    table = list(rows(releases, _answers(made)))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        say(f"  {'  '.join(map(str.ljust, cells, widths))}".rstrip())
    for note in notes(releases, _answers(made)):
        say(f"  {note}")


def _write(releases: Releases, made: dict[str, MadeCard], folder: Path) -> None:
    replace_file(folder / RELEASES_MARKDOWN, (f"{line}\n" for line in markdown(releases, _answers(made))))
    replace_file(folder / RELEASES_JSON, [as_json(_document(releases, made)), "\n"])


def _document(releases: Releases, made: dict[str, MadeCard]) -> dict[str, Any]:
    """All as plain data; fields may be added, never renamed."""
    found = changes(releases.versions, _answers(made))
    return {
        "schema": 1,
        "library": releases.library,
        "versions": list(releases.versions),
        "install": releases.install,
        "made": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "cards": {version: {"folder": str(each.folder), **each.document()} for version, each in made.items()},
        "table": [list(cells) for cells in rows(releases, _answers(made))],
        "notes": list(notes(releases, _answers(made))),
        "changes": [to_builtins(each) | {"said": each.said} for each in found],
    }

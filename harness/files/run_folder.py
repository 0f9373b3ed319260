"""The run folder: written during the run, so that it can be judged even if the harness is killed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkers.history import limits
from checkers.history.files import read_bytes
from checkers.history.jsonl import MAX_LINE
from checkers.history.merge import merge
from checkers.history.reader import Commit
from checkers.printable import as_json
from checkers.redaction import redacted, redacted_document
from harness.core.errors import ConfigurationError
from harness.files import dated_folders
from harness.files.atomic_files import replace_file

HISTORY = "history.jsonl"
COMMITS = "commits.jsonl"
VERDICT = "verdict.json"
HEADER = "header.json"
PLAN = "plan.json"
EVENTS = "events"
LOGS = "logs"
MINIMAL_HISTORY = "minimal.jsonl"
MINIMAL_COMMITS = "minimal-commits.jsonl"
MINIMAL_TARGET = "minimal.toml"
MINIMAL_PLAN = "minimal-plan.json"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run, in `runs/<target>/<time>-<id>/`. Only its user can enter it."""

    path: Path
    passwords: tuple[str, ...] = field(default=(), repr=False)  # hidden in everything that is written

    @classmethod
    def create(cls, runs: Path, target: str, passwords: tuple[str, ...] = ()) -> RunFolder:
        """Create a new folder, and point the link `latest` to it."""
        try:
            path = dated_folders.create(runs / target, EVENTS, LOGS)
        except OSError as error:
            raise ConfigurationError(
                f"{runs}: cannot be used for runs: {error.strerror}; choose another folder with --runs"
            ) from None
        return cls(path, passwords)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep other processes from judging the run; the kernel unlocks it when this process ends.

        Raises ConfigurationError if it is in progress in another process.
        """
        with dated_folders.in_use(
            self.path, f"{self.path}: this run is in progress; judge it when it has ended"
        ):
            yield

    @property
    def run_id(self) -> str:
        """The folder's name, unique among all runs."""
        return self.path.name

    def write_json(self, name: str, document: dict[str, Any], indent: int | None = 1) -> None:
        """Write a JSON document atomically."""
        self._replace(name, [as_json(redacted_document(document, self.passwords), indent)])

    def write_text(self, name: str, text: str) -> None:
        """Write a text file atomically."""
        self._replace(name, [redacted(text, self.passwords)])

    def write_commits(self, commits: Iterable[Commit]) -> None:
        """Write the storage's order of accepted writes and fences."""
        self._replace(COMMITS, (json.dumps(_commit_line(each)) + "\n" for each in commits))

    def recorded(self) -> int:
        """Return the size of what all processes recorded (bytes)."""
        return sum(part.stat().st_size for part in (self.path / EVENTS).glob("*.jsonl"))

    def merge_events(self, notify: Callable[[str], None]) -> Path:
        """Merge the recordings of all processes into history.jsonl by time, once.

        `notify` gets a message about each line that a killed process left half written.
        Raises ConfigurationError if history.jsonl lacks a part of the recordings: what is not there
        would look like an error of the system.
        """
        history = self.path / HISTORY
        parts = sorted((self.path / EVENTS).glob("*.jsonl"))
        if history.exists():
            self.check_whole()
        else:
            if not (self.path / HEADER).exists():
                raise ConfigurationError(
                    f"{self.path}: this run ended before its clients started: there is nothing to judge"
                )
            header = read_bytes(self.path / HEADER, limits.DOCUMENT).decode(errors="replace")
            self._replace(HISTORY, (line + "\n" for line in (header, *merge(parts, notify))))
        return history

    def check_whole(self) -> None:
        """Raise ConfigurationError if history.jsonl lacks a part of the recordings beside it."""
        history = self.path / HISTORY
        parts = [self.path / HEADER, *(self.path / EVENTS).glob("*.jsonl")]
        recorded, kept = sum(map(_complete, parts)), history.stat().st_size
        if kept < recorded:
            raise ConfigurationError(
                f"{history} was cut off: it has {kept:,} bytes, but {EVENTS} beside it has {recorded:,} bytes"
                " of recorded events; remove it, and it is put together again from them"
            )

    def _replace(self, name: str, chunks: Iterable[str]) -> None:
        replace_file(self.path / name, chunks)


def _complete(part: Path) -> int:
    """Return how many bytes a recording has without a half-written last line; 0 if it is no regular file."""
    if part.is_symlink() or not part.is_file():
        return 0
    if part.name == HEADER:  # one line, without its end
        return part.stat().st_size + 1
    with part.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - MAX_LINE))
        return size - len(file.read(MAX_LINE).rpartition(b"\n")[2])


def _commit_line(commit: Commit) -> dict[str, Any]:
    stored = {"fence": True} if commit.fence else {"value": commit.value}
    return {"seq": commit.seq, "resource": commit.resource, "token": commit.token, **stored}

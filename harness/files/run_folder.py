"""The run folder: written during the run, so that it can be judged even if the harness is killed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkers.history.files import opened
from checkers.history.jsonl import MAX_LINE
from checkers.history.merge import merge
from checkers.history.records import Commit
from checkers.text import limits
from checkers.text.errors import HistoryError
from checkers.text.printable import as_json
from checkers.text.redaction import redacted, redacted_document
from harness.core.errors import ConfigurationError, InfrastructureError
from harness.core.invocation import typed
from harness.core.paths import as_seen_from_here
from harness.files import dated_folders, received
from harness.files.atomic_files import replace_file
from workloads.commit_room import CommitRoom

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
MINIMAL = (MINIMAL_HISTORY, MINIMAL_COMMITS, MINIMAL_TARGET, MINIMAL_PLAN)
"""What shrinking a run leaves."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run, in `runs/<target>/<time>-<id>/`. Only its user can enter it."""

    path: Path
    passwords: tuple[str, ...] = field(default=(), repr=False)  # hidden in everything that is written

    @classmethod
    def create(cls, runs: Path, target: str, passwords: tuple[str, ...] = ()) -> RunFolder:
        """Create a new folder, and point the link `latest` to it."""
        refused, remedy = f"{runs}: cannot be used for runs", "choose another folder with --runs"
        path = dated_folders.create_or_say(runs / target, EVENTS, LOGS, refused=refused, remedy=remedy)
        return cls(path, passwords)

    def in_use(self) -> AbstractContextManager[None]:
        """Keep other processes from judging the run until this one ends; ConfigurationError if one does."""
        busy = f"{self.path}: this run is in progress, or another command judges it; try again later"
        return dated_folders.in_use(self.path, busy)

    @property
    def run_id(self) -> str:
        """The folder's name, unique among all runs."""
        return self.path.name

    def write_json(self, name: str, document: dict[str, Any], indent: int | None = 1) -> None:
        """Write a JSON document atomically."""
        replace_file(self.path / name, [as_json(redacted_document(document, self.passwords), indent)])

    def write_text(self, name: str, text: str) -> None:
        """Write a text file atomically."""
        replace_file(self.path / name, [redacted(text, self.passwords)])

    def write_commits(self, commits: Iterable[Commit]) -> None:
        """Write the storage's order of accepted writes and fences.

        Raises Unknown if there is no end of them, for what the clients recorded; InfrastructureError if one
        is too long to be read again.
        """
        replace_file(self.path / COMMITS, _commit_lines(commits, CommitRoom(self.recorded())))

    def recorded(self) -> int:
        """Return the size of what all processes recorded (bytes)."""
        return sum(self._size(EVENTS, name) for name in self._recordings())

    def recordings(self) -> list[Path]:
        """Return all recordings; HistoryError if one is no regular file, or they are too many or large."""
        names, problem = self._recordings(), ""
        if len(names) > limits.EVENT_FILES:
            problem = f"it has more than {limits.EVENT_FILES:,} files, but a run has one for each process"
            problem += "; it is not from a run"
        elif (total := self.recorded()) > limits.HISTORY:
            most = limits.described(limits.HISTORY)
            problem = f"its files have {limits.described(total)}, but at most {most} are read; {limits.SPLIT}"
        if problem:
            raise HistoryError(str(self.path / EVENTS), 0, problem)
        return [self.path / EVENTS / name for name in names]

    def _recordings(self) -> list[str]:
        return [name for name in received.listed(self.path, EVENTS) if name.endswith(".jsonl")]

    def _size(self, *names: str) -> int:
        return received.size(self.path, *names, most=limits.HISTORY, remedy=limits.SPLIT) or 0

    def merge_events(self, notify: Callable[[str], None]) -> Path:
        """Merge the recordings of all processes into history.jsonl by time, once.

        `notify` gets a message about each line that a killed process left half written.
        Raises ConfigurationError if history.jsonl lacks a part of the recordings: what is not there
        would look like an error of the system.
        """
        if received.exists(self.path, HISTORY):
            self.check_whole()
        else:
            header = received.read(self.path, HEADER, most=limits.DOCUMENT)
            if header is None:
                raise ConfigurationError(
                    f"{self.path}: this run ended before its clients started: there is nothing to judge"
                )
            lines = (header.decode(errors="replace"), *merge(self.recordings(), notify, self.path))
            replace_file(self.path / HISTORY, (line + "\n" for line in lines))
        return self.path / HISTORY

    def check_whole(self) -> None:
        """Raise ConfigurationError if history.jsonl is shorter than the recordings from which it was made."""
        recorded = sum(self._complete(part) for part in self.recordings())
        if received.exists(self.path, HEADER):
            recorded += self._size(HEADER) + 1  # one line, without its end
        kept = self._size(HISTORY)
        if kept < recorded:
            raise ConfigurationError(
                f"{self.path / HISTORY} has {kept:,} bytes, but {HEADER} and the files in {EVENTS}/ make"
                f" {recorded:,}: lines are missing or were changed; remove it, and"
                f" {typed('recheck', as_seen_from_here(self.path))} puts it together again"
            )

    def _complete(self, part: Path) -> int:
        """Return how many bytes a recording has without a half-written last line."""
        with opened(part, limits.HISTORY, limits.SPLIT, within=self.path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - MAX_LINE))
            return size - len(file.read(MAX_LINE).rpartition(b"\n")[2])


def _commit_lines(commits: Iterable[Commit], room: CommitRoom) -> Iterator[str]:
    for each in commits:
        stored = {"fence": True} if each.fence else {"value": each.value}
        line = json.dumps({"seq": each.seq, "resource": each.resource, "token": each.token, **stored}) + "\n"
        if len(line) > limits.LINE:
            raise InfrastructureError(
                f"the storage's order of writes cannot be kept: entry {each.seq:,} takes {len(line):,} bytes,"
                f" and at most {limits.described(limits.LINE)} can be read again"
            )
        room.take(len(line))
        yield line

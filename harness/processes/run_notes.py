"""Notes on runs in progress, by which the leftovers of killed runs are found.

A run writes a note into the user's state folder before it starts anything, and removes it
when everything is gone. So a command finds leftovers by listing a folder that is usually
empty. A note names its process: while that is alive, nothing of its run is touched.

Notes cause files to be removed. So they are read only from folders that no other user can write
to, must have the exact form, and may name only two kinds of folders: the work folders in a
run's folder, and a temporary folder with the run's name.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from checkers.text.printable import printable
from harness.core.errors import InfrastructureError
from harness.files import atomic_files, private_folder
from harness.files.private_folder import UnsafeFolderError
from harness.files.user_folders import NoStateFolderError, state_folders, writable_state_folder
from harness.processes import ownership

WORK_FOLDERS = frozenset({"servers", "compose"})
"""The folders that engines create in a run's folder and remove with the servers; without recordings."""

NO_ENGINE = "none"  # in the note of a folder that no engine made
MAX_NOTE = 1 << 16  # bytes
_RUN_ID = re.compile(r"\w[\w.-]{0,99}", re.ASCII)
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class RunNote:
    """A run that may have left something behind."""

    file: Path
    marks: dict[str, str]
    engine: str
    paths: tuple[Path, ...]

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.marks[ownership.RUN]


@dataclass(frozen=True, slots=True)
class Notes:
    """The valid notes, and the reasons why others were skipped."""

    read: tuple[RunNote, ...]
    refused: tuple[str, ...]


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON form of a note."""

    marks: dict[str, str]
    engine: str
    paths: list[str]


class _RefusedError(Exception):
    """The note is not ours; `str()` says why."""


def temporary_work_folder(run_id: str) -> Path:
    """Return a run's temporary folder, such as for servers that cannot enter its own folder."""
    return Path(tempfile.gettempdir()) / f"fencepost-{run_id}"


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new temporary folder, which the next command removes if this process is killed."""
    name = secrets.token_hex(8)
    folder = temporary_work_folder(name)
    note = leave_note(ownership.this_process().marks(name), NO_ENGINE, [folder])
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        note.unlink(missing_ok=True)


def leave_note(marks: Mapping[str, str], engine: str, paths: Iterable[Path]) -> Path:
    """Write a note before a run starts anything; the caller unlinks it once everything is gone."""
    document = _Document(dict(marks), engine, [str(path) for path in paths])
    try:
        folder = writable_state_folder()
    except NoStateFolderError as error:
        raise InfrastructureError(
            "cannot write the note that lets a later command clean up if this run is killed:"
            f" {error}; set XDG_STATE_HOME to a folder that only you can write to"
        ) from None
    file = folder / f"{marks[ownership.RUN]}.json"
    atomic_files.replace_file(file, [msgspec.json.encode(document).decode()])
    return file


def read_notes() -> Notes:
    """Read all notes; those that cannot be ours are refused, each with a reason."""
    read: list[RunNote] = []
    refused: list[str] = []
    for folder in state_folders():
        try:
            with private_folder.opened(folder) as descriptor:
                for name in sorted(os.listdir(descriptor)):  # noqa: PTH208 (a descriptor)
                    if name.endswith(".json"):
                        _add(folder / name, descriptor, read, refused)
        except UnsafeFolderError as error:
            refused.append(f"all in {folder}: {error}")
        except OSError:
            continue
    return Notes(tuple(read), tuple(refused))


def _add(file: Path, folder: int, read: list[RunNote], refused: list[str]) -> None:
    try:
        read.append(_read(file, folder))
    except FileNotFoundError:
        return  # that run has just ended
    except (_RefusedError, OSError) as error:
        refused.append(f"{printable(str(file))}: {error}")


def _read(file: Path, folder: int) -> RunNote:
    descriptor = os.open(file.name, _READING, dir_fd=folder)
    with open(descriptor, "rb") as opened:  # noqa: PTH123 (a descriptor)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _RefusedError("it is not a regular file")
        if found.st_uid != os.geteuid():
            raise _RefusedError(f"it belongs to user {found.st_uid}")
        text = opened.read(MAX_NOTE + 1)
    if len(text) > MAX_NOTE:
        raise _RefusedError(f"it is over {MAX_NOTE} bytes")
    try:
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _RefusedError(f"it cannot be read: {error}") from None
    note = RunNote(file, document.marks, document.engine, tuple(map(Path, document.paths)))
    _check(note)
    return note


def _check(note: RunNote) -> None:
    if ownership.owner_of(note.marks) is None or not _RUN_ID.fullmatch(note.marks.get(ownership.RUN, "")):
        raise _RefusedError("it does not name a run and its process")
    for path in note.paths:
        if not may_name(path, note.run_id):
            raise _RefusedError(f"it names {str(path)!a}, which is not a folder of a run")


def may_name(path: Path, run_id: str) -> bool:
    """May a note of this run name that path?"""
    if not path.is_absolute() or ".." in path.parts or "\0" in str(path):
        return False
    return path.name in WORK_FOLDERS or path.name == temporary_work_folder(run_id).name

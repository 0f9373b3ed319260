"""Removal of what killed runs left behind; `run_notes` lists those runs."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.core.errors import InfrastructureError
from harness.files.user_folders import cache_folder, unusable
from harness.processes import ownership
from harness.processes.ownership import Life
from harness.processes.run_notes import WORK_FOLDERS, RunNote, read_notes

DOCKER = "docker"  # the name of that engine in a note
GONE_TIMEOUT = 5.0  # s
LOGS = "logs"  # in the folder of every run
_SHOWN = 5  # notes that were skipped
QUIT_TIMEOUT = 2.0  # s; enough for PostgreSQL to free its shared memory
FINISH_TIMEOUT = 10.0  # s; a `docker compose up` that outlived its harness takes one or two


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep did: one line for each thing."""

    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # with the reason
    notices: tuple[str, ...] = ()

    def __add__(self, other: Sweep) -> Sweep:
        return Sweep(self.removed + other.removed, self.kept + other.kept, self.notices + other.notices)


def sweep() -> Sweep:
    """Remove what runs with a dead harness left behind; the commands that run and judge call this first.

    Never raises for things that cannot be removed now, such as containers while Docker does not answer:
    the note stays, and the next command tries again.
    """
    found = read_notes()
    dead = (note for note in found.read if ownership.life_of(note.marks) is Life.DEAD)
    return sum(map(_remove_noted, dead), Sweep(notices=_notices(found.refused)))


def clean() -> Sweep:
    """Remove what any run with a dead harness left behind, with or without a note.

    Things of a live harness, or of one that is not visible from here (on another host, or
    in another container), are kept and reported.
    """
    from harness.engines import docker_removal

    swept = sweep()
    try:
        removed, kept = docker_removal.remove_ownerless()
        swept += Sweep(tuple(removed), tuple(kept))
    except InfrastructureError as error:
        swept += Sweep(kept=(f"containers, if there are any: {error}",))
    return swept + _end_processes(None) + _remove_old_cache()


def _remove_old_cache() -> Sweep:
    """Remove the cache of recorded histories that Fencepost had before 0.1.0."""
    folder = cache_folder() / "columns"
    if not folder.is_dir():
        return Sweep()
    why = unusable(folder) or _remove_folder(folder)
    return Sweep(kept=(f"{folder}: {why}",)) if why else Sweep(removed=(f"the unused cache {folder}",))


def _notices(refused: tuple[str, ...]) -> tuple[str, ...]:
    if not refused:
        return ()
    more = [f"and {len(refused) - _SHOWN} more"] * (len(refused) > _SHOWN)
    skipped = "; ".join([*refused[:_SHOWN], *more])
    return (f"notes of earlier runs were skipped; inspect and remove them: {skipped}",)


def _remove_noted(note: RunNote) -> Sweep:
    try:
        if note.engine == DOCKER:
            from harness.engines import docker_removal

            _end_processes(note.run_id, FINISH_TIMEOUT)  # otherwise it could start more containers
            swept = Sweep(removed=tuple(docker_removal.remove_run(note.run_id)))
        else:
            swept = _end_processes(note.run_id)
    except InfrastructureError as error:
        return Sweep(kept=(f"run {note.run_id}: {error}",))
    kept = tuple(f"{path}: {why}" for path in note.paths if (why := _remove_folder(path)))
    note.file.unlink(missing_ok=True)
    return swept + Sweep(kept=kept)


def _remove_folder(path: Path) -> str | None:
    """Remove a run's work folder with its content; return why not if it may not be one.

    No symbolic link is followed, in its path or inside it.
    """
    try:
        above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        return None if isinstance(error, FileNotFoundError) else str(error.strerror)
    why: str | None = None
    try:
        with suppress(FileNotFoundError):
            why = _not_ours(path, above)
            if why is None:
                shutil.rmtree(path.name, ignore_errors=True, dir_fd=above)
    finally:
        os.close(above)
    return why


def _not_ours(path: Path, above: int) -> str | None:
    """Say why a run may not have made this folder; FileNotFoundError if it does not exist."""
    found = os.stat(path.name, dir_fd=above, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode) or path.parent.resolve() != path.parent:
        return "there is a symbolic link or a file where a run had a folder"
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}"
    if path.name in WORK_FOLDERS and not _is_run_folder(above):
        return "it is not in the folder of a run"
    return None


def _is_run_folder(folder: int) -> bool:
    """Is this our folder, with the files of every run?"""
    try:
        logs = os.stat(LOGS, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(logs.st_mode) and os.fstat(folder).st_uid == os.geteuid()


def _end_processes(run_id: str | None, patience: float = QUIT_TIMEOUT) -> Sweep:
    """Kill the processes of a dead run, or of all dead runs, if they do not end within `patience` (s).

    Each got a signal when its harness died; one stopped by a fault handles it when it continues.
    """
    found = []
    psutil.process_iter.cache_clear()  # it may hold an ended process whose pid another has now
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # it has ended, or belongs to another user
            marks = ownership.from_environment(process.environ())
            if (
                ownership.RUN in marks
                and run_id in (None, marks[ownership.RUN])
                and ownership.life_of(marks) is Life.DEAD
            ):
                process.resume()
                found.append(process)
    _, still_there = psutil.wait_procs(found, timeout=patience)
    for process in still_there:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(still_there, timeout=GONE_TIMEOUT)
    return Sweep(removed=tuple(f"process {process.pid}" for process in found))

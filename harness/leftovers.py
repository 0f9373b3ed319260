"""What a run that was killed left behind, and its removal.

A run leaves a note in the user's state folder before it starts anything, and takes it away
when everything is gone. So every command can look for leftovers for the price of listing an
empty folder. A note says who holds it: as long as that process lives, nothing of it is touched.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness import owner
from harness.errors import InfrastructureError
from harness.owner import Life

DOCKER = "docker"  # the name of that engine in a note
GONE_TIMEOUT = 5.0  # s
QUIT_TIMEOUT = 2.0  # s; PostgreSQL frees its shared memory when it is let
FINISH_TIMEOUT = 10.0  # s; a `docker compose up` that outlived its harness takes one or two


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep did: a line for each thing, for a reader."""

    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # with the reason

    def __add__(self, other: Sweep) -> Sweep:
        return Sweep(self.removed + other.removed, self.kept + other.kept)


@dataclass(frozen=True, slots=True)
class Note:
    """One run that may have left something."""

    file: Path
    marks: dict[str, str]
    engine: str
    paths: tuple[Path, ...]

    @property
    def run_id(self) -> str:
        """The run that left it."""
        return self.marks[owner.RUN]


def leave_note(marks: Mapping[str, str], engine: str, paths: Iterable[Path]) -> Path:
    """Write down what a run is about to start; unlink the file once all of it is gone."""
    note = {"marks": dict(marks), "engine": engine, "paths": [str(path) for path in paths]}
    file = _writable_folder() / f"{marks[owner.RUN]}.json"
    unfinished = file.with_suffix(".tmp")
    unfinished.write_text(json.dumps(note), encoding="utf-8")
    unfinished.replace(file)
    return file


def sweep() -> Sweep:
    """Remove what runs left whose harness is dead; the commands that run and judge call this first.

    Never raises for what cannot be removed now, such as containers while no Docker answers:
    the note stays, and the next command tries again.
    """
    return sum((_remove_noted(note) for note in notes() if owner.life_of(note.marks) is Life.DEAD), Sweep())


def clean() -> Sweep:
    """Remove what any run left whose harness is dead, with a note or without.

    What belongs to a harness that lives, or to one that cannot be seen from here (on another
    host, or in a container of its own), is kept and told.
    """
    from harness.engines import docker_removal

    swept = sweep()
    try:
        removed, kept = docker_removal.remove_ownerless()
        swept += Sweep(tuple(removed), tuple(kept))
    except InfrastructureError as error:
        swept += Sweep(kept=(f"containers, if there are any: {error}",))
    return swept + _end_processes(None)


def notes() -> Iterator[Note]:
    """Read the notes that are there; one that cannot be read is skipped."""
    for folder in _folders():
        for file in sorted(folder.glob("*.json")):
            try:
                note = json.loads(file.read_text(encoding="utf-8"))
                yield Note(file, note["marks"], note["engine"], tuple(map(Path, note["paths"])))
            except (OSError, ValueError, KeyError):
                continue


def _remove_noted(note: Note) -> Sweep:
    """Remove what one dead run left, and then its note."""
    try:
        swept = _remove_containers(note) if note.engine == DOCKER else _end_processes(note.run_id)
    except InfrastructureError as error:
        return Sweep(kept=(f"run {note.run_id}: {error}",))
    for path in note.paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    note.file.unlink(missing_ok=True)
    return swept


def _remove_containers(note: Note) -> Sweep:
    from harness.engines import docker_removal

    _end_processes(note.run_id, FINISH_TIMEOUT)  # or it would start more containers behind our back
    return Sweep(removed=tuple(docker_removal.remove_run(note.run_id)))


def _end_processes(run_id: str | None, patience: float = QUIT_TIMEOUT) -> Sweep:
    """Kill the processes of a dead run, or of all dead runs, that do not end within `patience` (s).

    Each was sent a signal when its harness died; one that a fault had stopped gets it when it goes on.
    """
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            marks = owner.from_environment(process.environ())
        except (psutil.Error, OSError):
            continue
        if owner.RUN in marks and run_id in (None, marks[owner.RUN]) and owner.life_of(marks) is Life.DEAD:
            found.append(process)
            process.resume()
    _, still_there = psutil.wait_procs(found, timeout=patience)
    for process in still_there:
        process.kill()
    psutil.wait_procs(still_there, timeout=GONE_TIMEOUT)
    return Sweep(removed=tuple(f"process {process.pid}" for process in found))


def _folders() -> tuple[Path, Path]:
    """Return where notes may be: XDG's state folder, and a temporary one where that is read-only."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    temporary = Path(tempfile.gettempdir()) / f"fencepost-state-{os.geteuid()}"
    return Path(state) / "fencepost", temporary


def _writable_folder() -> Path:
    preferred, temporary = _folders()
    for folder in (preferred, temporary):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise InfrastructureError(f"neither {preferred} nor {temporary} can be written to")

"""A user's class as a lock or a storage: a target names it as `package.module:Class`.

Fencepost calls `Class(settings, session)` for a lock and `Class(settings)` for a storage;
they implement the protocols `Lock` and `Storage` of `fencepost`. A lock that grants
in steps calls `session.granted(resource, owner)` between them. A storage may also have two
static methods: `set_up(settings, resources)`, called before the first write, and
`committed(settings)`, which returns the accepted writes and fences in order.

What a class prints goes to stderr: stdout may be a document of Fencepost's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from typing import Any

from checkers.history.records import Commit
from checkers.text.printable import shorten
from workloads.class_fit import misfits_of_lock, misfits_of_storage
from workloads.client import Lock, NotApplied, Session, Storage, Unknown
from workloads.raised import described
from workloads.settings import LockSettings, StorageSettings

_END: Any = object()


class InvalidClassError(Exception):
    """The class cannot be loaded, or does not fit; the message says why."""


class FailedClassError(Exception):
    """The class raised an error where no operation can record it; the message says which, and where."""


def load(path: str) -> Any:
    """Import a class, from the installed packages or else from the current folder.

    Raises:
        InvalidClassError: there is none.
    """
    module, _, name = path.partition(":")
    if os.getcwd() not in sys.path:  # noqa: PTH109 - sys.path holds strings
        sys.path.append(os.getcwd())  # noqa: PTH109 - as above
    try:
        with redirect_stdout(sys.stderr):
            return getattr(import_module(module), name)
    except (Exception, SystemExit) as error:  # importing a user's module may raise anything
        raise InvalidClassError(
            f"{path} cannot be loaded: {type(error).__name__}: {error} ({searched()})"
        ) from error


def searched() -> str:
    """Say where classes are looked for."""
    found_in = os.environ.get("PYTHONPATH")
    return (
        f"searched: PYTHONPATH, which is {found_in or 'not set'}; the installed packages;"
        f" the current folder, {shorten(os.getcwd())}"  # noqa: PTH109 - as above
    )


def check_lock(path: str) -> None:
    """Raise InvalidClassError if there is no such class, or it is no lock."""
    _refuse(path, misfits_of_lock(load(path)))


def check_storage(path: str, *, fences: bool) -> None:
    """Raise InvalidClassError if there is no such class, or it is no storage whose mark can be raised."""
    _refuse(path, misfits_of_storage(load(path), fences=fences))


def _refuse(path: str, misfits: Iterable[str]) -> None:
    if said := "; ".join(f"{path}{misfit}" for misfit in misfits):
        raise InvalidClassError(said)


def connect_lock(settings: LockSettings, session: Session) -> Lock:
    """Make a client of the lock."""
    with _calling(settings.kind, "__init__"):
        lock: Lock = load(settings.kind)(settings, session)
    return lock


class CustomStorage:
    """A kind of storage that a user's class implements."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._class = load(path)

    def connect(self, settings: StorageSettings) -> Storage:
        """Make a client."""
        with _calling(self._path, "__init__"):
            storage: Storage = self._class(settings)
        return storage

    def set_up(self, settings: StorageSettings, resources: Sequence[str]) -> None:
        """Prepare for the first write, if the class supports that."""
        if hasattr(self._class, "set_up"):
            with _calling(self._path, "set_up"):
                self._class.set_up(settings, resources)

    def committed(self, settings: StorageSettings) -> Iterable[Commit] | None:
        """Read the order in which the storage accepted the writes; None if unsupported."""
        if not hasattr(self._class, "committed"):
            return None
        with _calling(self._path, "committed"):
            commits: Iterable[Commit] | None = self._class.committed(settings)
        return commits if commits is None else self._each(commits)

    def _each(self, commits: Iterable[Commit]) -> Iterator[Commit]:
        rest = iter(commits)
        while True:
            with _calling(self._path, "committed"):
                commit = next(rest, _END)
            if commit is _END:
                return
            yield commit


@contextmanager
def _calling(path: str, method: str) -> Iterator[None]:
    """Raise FailedClassError for an error that a method raised; what its protocol allows passes."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except (NotApplied, Unknown, InvalidClassError):
        raise
    except (Exception, SystemExit) as error:
        raise FailedClassError(f"{path} raised in {method}: {described(error)}") from error

"""A user's class as a lock or a storage: a target names it as `package.module:Class`.

Fencepost calls `Class(settings, renewals)` for a lock and `Class(settings)` for a storage;
they implement the protocols `Lock` and `Storage` of `workloads.client`. A lock that grants
in steps calls `renewals.granted(resource, owner)` between them. A storage may also have two
static methods: `set_up(settings, resources)`, called before the first write, and
`committed(settings)`, which returns the accepted writes and fences in order.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from checkers.history.records import Commit
from checkers.text.printable import shorten
from workloads.client import Lock, Session, Storage
from workloads.settings import LockSettings, StorageSettings

LOCK_METHODS = ("acquire", "release", "revoke", "reconnect", "close")
STORAGE_METHODS = ("write", "read", "reconnect")


class InvalidClassError(Exception):
    """The class cannot be loaded, or is not a lock or a storage; the message says why."""


def load(path: str, needed: Sequence[str]) -> Any:
    """Import a class, from the installed packages or else from the current folder.

    Raises:
        InvalidClassError: the class does not exist, or lacks a method.
    """
    module, _, name = path.partition(":")
    if os.getcwd() not in sys.path:  # noqa: PTH109 - sys.path holds strings
        sys.path.append(os.getcwd())  # noqa: PTH109 - as above
    try:
        found = getattr(import_module(module), name)
    except Exception as error:  # importing a user's module may raise anything
        raise InvalidClassError(
            f"{path} cannot be loaded: {type(error).__name__}: {error} ({_searched()})"
        ) from error
    if hasattr(found, "__getattr__"):  # it may delegate missing methods to another client
        return found
    missing = [method for method in needed if not callable(getattr(found, method, None))]
    if missing:
        raise InvalidClassError(f"{path} has no {', no '.join(missing)}: it needs {', '.join(needed)}")
    return found


def _searched() -> str:
    found_in = os.environ.get("PYTHONPATH")
    return (
        f"searched: PYTHONPATH, which is {found_in or 'not set'}; the installed packages;"
        f" the current folder, {shorten(os.getcwd())}"  # noqa: PTH109 - as above
    )


def connect_lock(settings: LockSettings, renewals: Session) -> Lock:
    """Make a client of the lock."""
    lock: Lock = load(settings.kind, LOCK_METHODS)(settings, renewals)
    return lock


class CustomStorage:
    """A kind of storage that a user's class implements."""

    def __init__(self, path: str) -> None:
        self._class = load(path, STORAGE_METHODS)

    def connect(self, settings: StorageSettings) -> Storage:
        """Make a client."""
        storage: Storage = self._class(settings)
        return storage

    def set_up(self, settings: StorageSettings, resources: Sequence[str]) -> None:
        """Prepare for the first write, if the class supports that."""
        if hasattr(self._class, "set_up"):
            self._class.set_up(settings, resources)

    def committed(self, settings: StorageSettings) -> Iterable[Commit] | None:
        """Read the order in which the storage accepted the writes; None if unsupported."""
        if not hasattr(self._class, "committed"):
            return None
        commits: Iterable[Commit] = self._class.committed(settings)
        return commits

"""Your own class as a lock or a storage: a target names it as `package.module:Class`.

A lock is made as `Class(settings, renewals)` and a storage as `Class(settings)`; what each
must have is `Lock` and `Storage` of `workloads.client`. A lock that grants in steps calls
`renewals.granted(resource, owner)` between them. A storage may also have two static
methods: `set_up(settings, resources)`, called before the first write, and
`committed(settings)`, which returns the order in which it accepted the writes and fences.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from checkers.history import Commit
from workloads.client import Lock, Session, Storage
from workloads.settings import LockSettings, StorageSettings

LOCK = ("acquire", "release", "revoke", "reconnect", "close")
STORAGE = ("write", "read", "reconnect")


class UnfitError(Exception):
    """The class cannot be loaded, or is no lock or storage; the message says why."""


def load(path: str, needed: Sequence[str]) -> Any:
    """Import a class, also from the folder that the command was called in.

    That comes last: whatever is installed is never taken from there.

    Raises:
        UnfitError: it is not there, or lacks a method.
    """
    module, _, name = path.partition(":")
    if os.getcwd() not in sys.path:  # noqa: PTH109 - sys.path holds strings
        sys.path.append(os.getcwd())  # noqa: PTH109
    try:
        found = getattr(import_module(module), name)
    except Exception as error:  # whatever a module of somebody else's does when it is imported
        raise UnfitError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    if hasattr(found, "__getattr__"):  # what it lacks it may hand on to another client
        return found
    missing = [method for method in needed if not callable(getattr(found, method, None))]
    if missing:
        raise UnfitError(f"{path} has no {', no '.join(missing)}: it needs {', '.join(needed)}")
    return found


def connect_lock(settings: LockSettings, renewals: Session) -> Lock:
    """Make a client of the lock."""
    lock: Lock = load(settings.kind, LOCK)(settings, renewals)
    return lock


class OwnStorage:
    """A kind of storage that is somebody's class."""

    def __init__(self, path: str) -> None:
        self._class = load(path, STORAGE)

    def connect(self, settings: StorageSettings) -> Storage:
        """Make a client."""
        storage: Storage = self._class(settings)
        return storage

    def set_up(self, settings: StorageSettings, resources: Sequence[str]) -> None:
        """Make what is needed before the first write, if the class has a way."""
        if hasattr(self._class, "set_up"):
            self._class.set_up(settings, resources)

    def committed(self, settings: StorageSettings) -> list[Commit] | None:
        """Read the order in which the storage accepted the writes; None if the class has no way."""
        if not hasattr(self._class, "committed"):
            return None
        return list(self._class.committed(settings))

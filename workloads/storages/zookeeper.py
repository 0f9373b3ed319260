"""ZooKeeper as a fenced register: one znode a resource, with the token beside the value.

none            the token is stored, and never looked at
version-check   read the mark and its version, compare in the client, write if the version is still that

Each accepted write leaves a sequential znode in a log, in the same multi: their numbers
are the committed order. A write that lost a race was refused for certain; the client looks
at the new mark then. The multi is one message, and goes through or not as a whole.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError, RolledBackError

from checkers.history import Commit
from workloads.client import NotApplied, Stale, Unknown
from workloads.settings import StorageSettings
from workloads.zookeeper_session import ZookeeperSession

LIFETIME = 30.0  # seconds; nothing is bound to the session, so a paused client may come back to it
ANY_VERSION = -1

_ROOT = "/fencepost-register"
_LOG = "/fencepost-log"


class ZookeeperStorage:
    """One client of the register."""

    def __init__(self, settings: StorageSettings) -> None:
        self._settings = settings
        self._guarded = settings.fencing != "none"
        self._session: ZookeeperSession | None = None

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token, guarded as the fencing says."""
        deadline = time.monotonic() + self._settings.timeout
        while not self._written(resource, token, value, sent):
            if time.monotonic() > deadline:
                raise NotApplied("others wrote first, again and again")

    def _written(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> bool:
        """Try once; was nobody faster?"""
        version = self._compared(resource, token) if self._guarded else ANY_VERSION
        mark = json.dumps({"token": token, "value": value}).encode()
        entry = json.dumps({"resource": resource, "token": token, "value": value}).encode()

        def add(transaction: Any) -> None:
            transaction.set_data(_path(resource), mark, version)
            transaction.create(f"{_LOG}/w-", entry, sequence=True)

        answers = self._opened().transact(add, sent)
        refusals = [each for each in answers if isinstance(each, Exception)]
        refusal = next((each for each in refusals if not isinstance(each, RolledBackError)), None)
        if isinstance(refusal, NoNodeError):
            raise NotApplied(f"no znode for {resource}")
        if refusals and not isinstance(refusal, BadVersionError):
            raise Unknown(repr(refusals))
        return not refusals

    def _compared(self, resource: str, token: int) -> int:
        """Return the version of a mark that is below the token; Stale if it is not."""
        try:
            mark, version = self._mark(resource)
        except NoNodeError as error:
            raise NotApplied(f"no znode for {resource}") from error
        except Unknown as error:  # only the look at the mark
            raise NotApplied(str(error)) from error
        if token < mark["token"] or (token == mark["token"] and self._settings.policy == "strict"):
            raise Stale
        return version

    def _mark(self, resource: str) -> tuple[dict[str, Any], int]:
        data, stat = self._opened().call("get", _path(resource))
        return json.loads(data), stat.version

    def read(self, resource: str) -> tuple[str | None, int]:
        """Return the value and the token of the last accepted write."""
        try:
            mark, _ = self._mark(resource)
        except NoNodeError:
            return None, 0
        return mark["value"], mark["token"]

    def reconnect(self) -> None:
        """Drop the session: the next call opens a new one."""
        if self._session:
            self._session.close()
            self._session = None

    def _opened(self) -> ZookeeperSession:
        if self._session is None or self._session.is_lost:
            self.reconnect()
            self._session = _session(self._settings)
        return self._session


def connect(settings: StorageSettings) -> ZookeeperStorage:
    """Make a client."""
    return ZookeeperStorage(settings)


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Make the log, and a znode with the mark 0 for each resource."""
    empty = json.dumps({"token": 0, "value": None}).encode()
    with closing(_session(settings)) as session:
        for path, data in [(_ROOT, b""), (_LOG, b""), *((_path(each), empty) for each in resources)]:
            try:
                session.call("create", path, data)
            except NodeExistsError:
                continue


def committed(settings: StorageSettings) -> list[Commit]:
    """Read the accepted writes in the order the storage accepted them."""
    with closing(_session(settings)) as session:
        names = sorted(session.call("get_children", _LOG))
        entries = session.call_each("get", [f"{_LOG}/{name}" for name in names])
    return [Commit(seq=seq, **json.loads(entry)) for seq, (entry, _) in enumerate(entries, 1)]


def _path(resource: str) -> str:
    return f"{_ROOT}/{resource}"


def _session(settings: StorageSettings) -> ZookeeperSession:
    return ZookeeperSession(settings.endpoints, LIFETIME, settings.timeout)

"""ZooKeeper as a fenced register: one znode per resource, with the mark and the value.

none            the token is stored, but not compared
version-check   read the mark and its version, compare in the client, write if the version is unchanged

Each accepted write and fence adds a sequential znode to a log, in the same multi: their
numbers are the commit order. A write that loses a race certainly had no effect; the client
then compares with the new mark. The multi is one message, and atomic.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError, RolledBackError

from checkers.history.records import Commit
from workloads.client import UNWRITTEN, NotApplied, Stale, Unknown, as_stored
from workloads.settings import StorageSettings
from workloads.zookeeper_session import FORBIDDEN, ZookeeperSession, login_of

LIFETIME = 30.0  # seconds; the session has no ephemeral znodes, so a paused client may return to it
ANY_VERSION = -1
_PAGE = 1000  # entries of the log read at a time


class _Connection:
    """A session that the first call opens, and the first one after it was lost opens again."""

    def __init__(self, settings: StorageSettings) -> None:
        self._settings = settings
        self._session: ZookeeperSession | None = None

    def opened(self) -> ZookeeperSession:
        if self._session is None or self._session.is_lost:
            self.close()
            self._session = _session(self._settings)
        return self._session

    def close(self) -> None:
        if self._session:
            self._session.close()
            self._session = None


class ZookeeperStorage:
    """One client of the register."""

    def __init__(self, settings: StorageSettings, connection: _Connection) -> None:
        self._settings = settings
        self._names = settings.names
        self._guarded = settings.fencing != "none"
        self._connection = connection

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced as configured."""
        self._retry_lost_races(lambda: self._try_write(resource, token, value, sent))

    def _try_write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> bool:
        version = self._version_below(resource, as_stored(token)) if self._guarded else ANY_VERSION
        state = {"mark": token, "token": token, "value": value}
        return self._put(resource, state, version, {"token": token, "value": value}, sent)

    def _put(
        self,
        resource: str,
        state: dict[str, Any],
        version: int,
        logged: dict[str, Any],
        sent: Callable[[], None] = lambda: None,
    ) -> bool:
        """Set a state and log it atomically; False if the version has changed."""

        def add(transaction: Any) -> None:
            transaction.set_data(_path(resource, self._names), _encoded(state), version)
            if self._settings.logged:
                transaction.create(
                    f"{_log(self._names)}/w-", _encoded({"resource": resource, **logged}), sequence=True
                )

        answers = self._connection.opened().transact(add, sent)
        refusals = [each for each in answers if isinstance(each, Exception)]
        refusal = next((each for each in refusals if not isinstance(each, RolledBackError)), None)
        if isinstance(refusal, NoNodeError):
            raise NotApplied(f"no znode for {resource}")
        if isinstance(refusal, FORBIDDEN):
            raise NotApplied(type(refusal).__name__)
        if refusals and not isinstance(refusal, BadVersionError):
            raise Unknown(repr(refusals))
        return not refusals

    def _version_below(self, resource: str, token: int) -> int:
        """Return the version of a mark below the token; Stale if the mark is not below it."""
        state, version = self._read_state(resource)
        if token < state["mark"] or (token == state["mark"] and self._settings.policy == "strict"):
            raise Stale
        return version

    def _retry_lost_races(self, attempt: Callable[[], bool]) -> None:
        """Repeat an attempt until the mark does not change during it; a lost race had no effect."""
        deadline = time.monotonic() + self._settings.timeout
        while not attempt():
            if time.monotonic() > deadline:
                raise NotApplied("repeatedly lost the race against other writers")

    def _read_state(self, resource: str) -> tuple[dict[str, Any], int]:
        """Return the state and its version; every error is NotApplied, since a read changes nothing."""
        try:
            return self._state(resource)
        except NoNodeError as error:
            raise NotApplied(f"no znode for {resource}") from error
        except Unknown as error:
            raise NotApplied(str(error)) from error

    def _state(self, resource: str) -> tuple[dict[str, Any], int]:
        data, stat = self._connection.opened().call("get", _path(resource, self._names))
        return json.loads(data), stat.version

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write."""
        try:
            state, _ = self._state(resource)
        except NoNodeError:
            return None, 0
        return state["value"], state["token"]

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""
        self._retry_lost_races(lambda: self._try_fence(resource, token))

    def _try_fence(self, resource: str, token: int) -> bool:
        state, version = self._read_state(resource)
        if state["mark"] > token:
            raise Stale
        return self._put(resource, state | {"mark": token}, version, {"token": token, "fence": True})

    def reconnect(self) -> None:
        """Drop the session: the next call opens a new one."""
        self._connection.close()

    def sharing(self, settings: StorageSettings) -> ZookeeperStorage:
        """Make a client with other settings in the same session."""
        return ZookeeperStorage(settings, self._connection)


def connect(settings: StorageSettings) -> ZookeeperStorage:
    """Make a client."""
    return ZookeeperStorage(settings, _Connection(settings))


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Create the log, and a znode for each resource with a mark below every token."""
    empty = _encoded({"mark": UNWRITTEN, "token": UNWRITTEN, "value": None})
    names = settings.names
    registers = ((_path(each, names), empty) for each in resources)
    with closing(_session(settings)) as session:
        for path, data in [(_root(names), b""), (_log(names), b""), *registers]:
            try:
                session.call("create", path, data)
            except NodeExistsError:
                continue


def committed(settings: StorageSettings) -> Iterator[Commit]:
    """Read the accepted writes and fences in commit order."""
    log = _log(settings.names)
    with closing(_session(settings)) as session:
        entries = sorted(session.call("get_children", log))
        for first in range(0, len(entries), _PAGE):
            page = [f"{log}/{entry}" for entry in entries[first : first + _PAGE]]
            for seq, (entry, _) in enumerate(session.call_each("get", page), first + 1):
                yield Commit(seq=seq, **json.loads(entry))


def remove(settings: StorageSettings) -> int:
    """Delete the znodes of a run; return how many there were."""
    return _session(settings).delete_and_end(_root(settings.names), _log(settings.names))


def _encoded(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode()


def _path(resource: str, names: str) -> str:
    return f"{_root(names)}/{resource}"


def _root(names: str) -> str:
    return f"/fencepost-register-{names}" if names else "/fencepost-register"


def _log(names: str) -> str:
    return f"/fencepost-log-{names}" if names else "/fencepost-log"


def _session(settings: StorageSettings) -> ZookeeperSession:
    return ZookeeperSession(settings.endpoints, LIFETIME, settings.timeout, login_of(settings))

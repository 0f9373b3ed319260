"""ZooKeeper as a fenced register: one znode a resource, with the mark beside the value.

none            the token is stored, and never looked at
version-check   read the mark and its version, compare in the client, write if the version is still that

Each accepted write and fence leaves a sequential znode in a log, in the same multi: their numbers
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
from workloads.client import UNWRITTEN, NotApplied, Stale, Unknown
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
        self._until_nobody_was_faster(lambda: self._written(resource, token, value, sent))

    def _written(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> bool:
        version = self._compared(resource, token) if self._guarded else ANY_VERSION
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
        """Set a state and log it, both or neither; False if the version is another by now."""

        def add(transaction: Any) -> None:
            transaction.set_data(_path(resource), _encoded(state), version)
            transaction.create(f"{_LOG}/w-", _encoded({"resource": resource, **logged}), sequence=True)

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
        state, version = self._looked_at(resource)
        if token < state["mark"] or (token == state["mark"] and self._settings.policy == "strict"):
            raise Stale
        return version

    def _until_nobody_was_faster(self, attempt: Callable[[], bool]) -> None:
        """An attempt whose mark has changed meanwhile was refused for certain: make another."""
        deadline = time.monotonic() + self._settings.timeout
        while not attempt():
            if time.monotonic() > deadline:
                raise NotApplied("others were faster, again and again")

    def _looked_at(self, resource: str) -> tuple[dict[str, Any], int]:
        """Return the state and its version; whatever goes wrong, nothing has been changed."""
        try:
            return self._state(resource)
        except NoNodeError as error:
            raise NotApplied(f"no znode for {resource}") from error
        except Unknown as error:
            raise NotApplied(str(error)) from error

    def _state(self, resource: str) -> tuple[dict[str, Any], int]:
        data, stat = self._opened().call("get", _path(resource))
        return json.loads(data), stat.version

    def read(self, resource: str) -> tuple[str | None, int]:
        """Return the value and the token of the last accepted write."""
        try:
            state, _ = self._state(resource)
        except NoNodeError:
            return None, 0
        return state["value"], state["token"]

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and leave the value."""
        self._until_nobody_was_faster(lambda: self._raised(resource, token))

    def _raised(self, resource: str, token: int) -> bool:
        state, version = self._looked_at(resource)
        if state["mark"] > token:
            raise Stale
        return self._put(resource, state | {"mark": token}, version, {"token": token, "fence": True})

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
    """Make the log, and a znode with a mark below every token for each resource."""
    empty = _encoded({"mark": UNWRITTEN, "token": UNWRITTEN, "value": None})
    with closing(_session(settings)) as session:
        for path, data in [(_ROOT, b""), (_LOG, b""), *((_path(each), empty) for each in resources)]:
            try:
                session.call("create", path, data)
            except NodeExistsError:
                continue


def committed(settings: StorageSettings) -> list[Commit]:
    """Read the accepted writes and fences in the order the storage accepted them."""
    with closing(_session(settings)) as session:
        names = sorted(session.call("get_children", _LOG))
        entries = session.call_each("get", [f"{_LOG}/{name}" for name in names])
    return [Commit(seq=seq, **json.loads(entry)) for seq, (entry, _) in enumerate(entries, 1)]


def _encoded(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode()


def _path(resource: str) -> str:
    return f"{_ROOT}/{resource}"


def _session(settings: StorageSettings) -> ZookeeperSession:
    return ZookeeperSession(settings.endpoints, LIFETIME, settings.timeout)

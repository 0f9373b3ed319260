"""A storage of the user's own, over HTTP: POST write, read, fence and commits.

A resource is a file, to which each write appends one line; how the service keeps stale
writers out is its own affair. A request is one message.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from contextlib import closing

from msgspec import Struct

from checkers.history import Commit
from checkers.reading.lines import Token
from workloads.client import NotApplied, Unknown
from workloads.http_connection import HttpConnection
from workloads.http_contract import Done, HttpService
from workloads.settings import StorageSettings


class LastWrite(Struct, frozen=True, kw_only=True):
    """The answer to a read: null, both, before the first accepted write."""

    resource_id: str
    fencing_token: Token | None
    bytes: str | None


class AcceptedWrite(Struct, frozen=True, kw_only=True):
    """One entry of the order in which writes and fences were accepted; a fence has no bytes."""

    resource_id: str
    fencing_token: Token
    bytes: str | None = None
    fence: bool = False


class Commits(Struct, frozen=True, kw_only=True):
    """The answer about that order."""

    commits: list[AcceptedWrite]


class HttpStorage:
    """One client of the register."""

    def __init__(self, service: HttpService) -> None:
        self._service = service

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write under a token, guarded as the service does."""
        payload = {"file_path": self._file(resource), "mutation_type": "APPEND", "bytes": _encoded(value)}
        self._service.ask("/write", resource, Done, sent, fencing_token=token, write_payload=payload)

    def read(self, resource: str) -> tuple[str | None, int]:
        """Return the value and the token of the last accepted write."""
        last = self._service.ask("/read", resource, LastWrite, file_path=self._file(resource))
        if last.bytes is None and last.fencing_token is None:
            return None, 0
        if last.bytes is None or last.fencing_token is None:
            raise Unknown(f"a write has both a token and bytes: {last}")
        return _decoded(last.bytes), last.fencing_token

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and leave the value."""
        self._service.ask("/fence", resource, Done, fencing_token=token)

    def _file(self, resource: str) -> str:
        return f"{self._service.prefix}{resource}.log"

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._service.close()


def connect(settings: StorageSettings) -> HttpStorage:
    """Make a client."""
    return HttpStorage(_service(settings))


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """See that the service answers, and has nothing of this run yet: what it needs, it makes itself."""
    with closing(_service(settings)) as service:
        for resource in resources:
            value, _ = HttpStorage(service).read(resource)
            if value is not None:
                raise NotApplied(f"{service.prefix}{resource} has been written before this run")


def committed(settings: StorageSettings) -> list[Commit] | None:
    """Read the accepted writes and fences in the storage's own order; None if it cannot tell."""
    with closing(_service(settings)) as service:
        found = service.ask_for_list("/commits", Commits)
        if found is None:
            return None
        return [
            _commit(seq, each.resource_id.removeprefix(service.prefix), each)
            for seq, each in enumerate(found.commits, 1)
            if each.resource_id.startswith(service.prefix)
        ]


def _commit(seq: int, resource: str, accepted: AcceptedWrite) -> Commit:
    if accepted.fence == (accepted.bytes is not None):
        raise Unknown(f"a write has bytes, and a fence has none: {accepted}")
    value = None if accepted.bytes is None else _decoded(accepted.bytes)
    return Commit(seq=seq, resource=resource, token=accepted.fencing_token, value=value, fence=accepted.fence)


def _encoded(value: str) -> str:
    return base64.b64encode(f"{value}\n".encode()).decode()


def _decoded(line: str) -> str:
    try:
        return base64.b64decode(line, validate=True).decode().removesuffix("\n")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Unknown(f"these bytes were never written: {line!r}: {error}") from error


def _service(settings: StorageSettings) -> HttpService:
    return HttpService(HttpConnection(settings.endpoints[0], settings.timeout), settings.run)

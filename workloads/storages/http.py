"""A user's own storage over HTTP: POST write, read, fence and commits.

A resource is a file, and each write appends one line to it. How the service fences is up
to the service. A request is one message.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from contextlib import closing

from msgspec import Struct

from checkers.history.lines import Token
from checkers.history.records import Commit
from checkers.text.limits import MIB
from checkers.text.printable import quoted, shorten
from workloads.client import NotApplied, Unknown
from workloads.commit_room import CommitRoom
from workloads.http_connection import HttpConnection, TooLongError
from workloads.http_contract import Acknowledgement, HttpService
from workloads.settings import StorageSettings

MOST_COMMITS = 256 * MIB  # of an answer; it takes up to six times as much memory


class LastWrite(Struct, frozen=True, kw_only=True):
    """The answer to a read; both fields are null before the first accepted write."""

    resource_id: str
    fencing_token: Token | None
    bytes: str | None


class AcceptedWrite(Struct, frozen=True, kw_only=True):
    """One entry of the commit order; a fence has no bytes."""

    resource_id: str
    fencing_token: Token | None
    bytes: str | None = None
    fence: bool = False


class CommitsAnswer(Struct, frozen=True, kw_only=True):
    """The answer with the commit order."""

    commits: list[AcceptedWrite]


class HttpStorage:
    """One client of the register."""

    def __init__(self, service: HttpService, *, fenced: bool = True) -> None:
        self._service = service
        self._fenced = fenced

    def write(self, resource: str, token: int | None, value: str, sent: Callable[[], None]) -> None:
        """Write with a token, fenced by the service."""
        payload = {"file_path": self._file(resource), "mutation_type": "APPEND", "bytes": _encoded(value)}
        self._service.request(
            "/write", resource, Acknowledgement, sent, fencing_token=token, write_payload=payload
        )

    def read(self, resource: str) -> tuple[str | None, int | None]:
        """Return the value and the token of the last accepted write."""
        last = self._service.request("/read", resource, LastWrite, file_path=self._file(resource))
        if last.bytes is None and last.fencing_token is None:
            return None, 0
        if last.bytes is None or (last.fencing_token is None and self._fenced):
            raise Unknown(f"token and bytes must both be null or both be set: {shorten(str(last))}")
        return _decoded(last.bytes), last.fencing_token

    def fence(self, resource: str, token: int) -> None:
        """Raise the mark to a token and keep the value."""
        self._service.request("/fence", resource, Acknowledgement, fencing_token=token)

    def _file(self, resource: str) -> str:
        return f"{self._service.prefix}{resource}.log"

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._service.close()


def connect(settings: StorageSettings) -> HttpStorage:
    """Make a client."""
    return HttpStorage(_service(settings), fenced=settings.fencing != "none")


def set_up(settings: StorageSettings, resources: Sequence[str]) -> None:
    """Check that the service answers and has no data of this run; it prepares itself."""
    with closing(_service(settings)) as service:
        for resource in resources:
            value, _ = HttpStorage(service).read(resource)
            if value is not None:
                raise NotApplied(f"{service.prefix}{resource} already has data before this run")


def committed(settings: StorageSettings) -> list[Commit] | None:
    """Read the accepted writes and fences in commit order; None if the service does not know it."""
    with closing(_service(settings)) as service:
        found = _listed(service, CommitRoom(settings.recorded))
        if found is None:
            return None
        return [
            _commit(seq, each.resource_id.removeprefix(service.prefix), each)
            for seq, each in enumerate(found.commits, 1)
            if each.resource_id.startswith(service.prefix)
        ]


def _listed(service: HttpService, room: CommitRoom) -> CommitsAnswer | None:
    try:
        return service.request_list("/commits", CommitsAnswer, min(room.most, MOST_COMMITS))
    except TooLongError as error:
        raise Unknown(
            f"/commits: {error}, {room.why}; return only the writes and fences whose resource_id starts with"
            " the prefix in the request"
        ) from error


def _commit(seq: int, resource: str, accepted: AcceptedWrite) -> Commit:
    if accepted.fence == (accepted.bytes is not None):
        raise Unknown(f"a write has bytes, and a fence has none: {shorten(str(accepted))}")
    if accepted.fence and accepted.fencing_token is None:
        raise Unknown(f"a fence has a token: {shorten(str(accepted))}")
    value = None if accepted.bytes is None else _decoded(accepted.bytes)
    return Commit(seq=seq, resource=resource, token=accepted.fencing_token, value=value, fence=accepted.fence)


def _encoded(value: str) -> str:
    return base64.b64encode(f"{value}\n".encode()).decode()


def _decoded(line: str) -> str:
    try:
        return base64.b64decode(line, validate=True).decode().removesuffix("\n")
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Unknown(f"bytes are not base64 of UTF-8: {quoted(line)}: {error}") from error


def _service(settings: StorageSettings) -> HttpService:
    return HttpService(HttpConnection(settings.endpoints[0], settings.timeout), settings.run)

"""The HTTP contract between Fencepost and a user's own lock service and storage.

`docs/http.md` describes it. 200 carries the result; 409 is a definite refusal: the request
had no effect and never will. The outcome of any other answer is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, Protocol, TypeVar

from msgspec import Meta, Struct

from checkers.text.printable import shorten
from workloads.client import NotApplied, Stale, Unknown
from workloads.http_connection import HttpConnection, Reply

MILLISECOND = 1_000_000  # ns
STALE = "stale"

Milliseconds = Annotated[int, Meta(gt=0, le=10**12)]


class AboutResource(Protocol):
    """Every answer names the resource it is about."""

    @property
    def resource_id(self) -> str:
        """The name in the request."""


AnswerT = TypeVar("AnswerT", bound=AboutResource)
T = TypeVar("T")


class Acknowledgement(Struct, frozen=True, kw_only=True):
    """The answer to a request that returns no data."""

    resource_id: str


class ErrorBody(Struct, frozen=True, kw_only=True):
    """The body of a 409."""

    error: str


class RefusedError(NotApplied):
    """The service refused; the message has its reason."""


class HttpService:
    """One connection to a service that implements the contract.

    Resource names sent to the service start with the run's name, so that a run never sees
    data of an earlier one.
    """

    def __init__(self, connection: HttpConnection, run: str) -> None:
        self._connection = connection
        self.prefix = f"{run}-" if run else ""

    def request(
        self,
        path: str,
        resource: str,
        kind: type[AnswerT],
        sent: Callable[[], None] | None = None,
        **fields: Any,
    ) -> AnswerT:
        """Send one request about a resource, and return the answer.

        Raises Stale or RefusedError if the service refused, NotApplied if it was not reached,
        Unknown for any other error.
        """
        resource_id = self.prefix + resource
        reply = self._connection.call(path, {"resource_id": resource_id, **fields}, sent)
        if reply.status == HTTPStatus.CONFLICT:
            raise _refused(reply)
        answer = reply.read_as(kind)
        if answer.resource_id != resource_id:
            raise Unknown(f"asked about {resource_id}, got {reply}")
        return answer

    def request_list(self, path: str, kind: type[T], limit: int) -> T | None:
        """Send one request about all resources of the run; None if the service lacks the path.

        `limit` bounds the answer's body (bytes).
        """
        reply = self._connection.call(path, {"prefix": self.prefix}, limit=limit)
        return None if reply.status == HTTPStatus.NOT_FOUND else reply.read_as(kind)

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()


def _refused(reply: Reply) -> NotApplied:
    error = reply.content_as(ErrorBody).error
    return Stale() if error == STALE else RefusedError(f"refused: {shorten(error)}")

"""What Fencepost asks of a lock service and a storage of the user's own, and what their answers mean.

`docs/http.md` is its page. 200 is the answer that was asked for, and 409 an explicit
refusal: nothing was done, and never will be. Whatever else comes, nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, Protocol, TypeVar

from msgspec import Meta, Struct

from workloads.client import NotApplied, Stale, Unknown
from workloads.http_connection import HttpConnection, Reply

MILLISECOND = 1_000_000  # ns
STALE = "stale"
LONGEST_LIST = 256 * 2**20  # bytes; the order of some million writes

Milliseconds = Annotated[int, Meta(gt=0, le=10**12)]


class Answer(Protocol):
    """Every answer says which resource it is about."""

    @property
    def resource_id(self) -> str:
        """The name that the request gave."""


Said = TypeVar("Said", bound=Answer)
Listed = TypeVar("Listed")


class Done(Struct, frozen=True, kw_only=True):
    """The answer to what carries nothing back."""

    resource_id: str


class Refusal(Struct, frozen=True, kw_only=True):
    """The body of a 409."""

    error: str


class RefusedError(NotApplied):
    """The service said that it did not do it; the message has its reason."""


class HttpService:
    """One connection to a service that keeps the contract.

    To the service a resource's name begins with the run's: so nothing that an earlier run
    has left there is taken for this one's.
    """

    def __init__(self, connection: HttpConnection, run: str) -> None:
        self._connection = connection
        self.prefix = f"{run}-" if run else ""

    def ask(
        self,
        path: str,
        resource: str,
        kind: type[Said],
        sent: Callable[[], None] | None = None,
        **fields: Any,
    ) -> Said:
        """Ask once about a resource, and return the answer.

        Raises Stale or RefusedError where it is a refusal, NotApplied where the service was not
        reached, Unknown where nobody knows.
        """
        resource_id = self.prefix + resource
        reply = self._connection.call(path, {"resource_id": resource_id, **fields}, sent)
        if reply.status == HTTPStatus.CONFLICT:
            raise _refused(reply)
        answer = reply.read_as(kind)
        if answer.resource_id != resource_id:
            raise Unknown(f"asked about {resource_id}, and answered {reply}")
        return answer

    def ask_for_list(self, path: str, kind: type[Listed]) -> Listed | None:
        """Ask about all resources of the run; None if the service has no such path."""
        reply = self._connection.call(path, {"prefix": self.prefix}, most=LONGEST_LIST)
        return None if reply.status == HTTPStatus.NOT_FOUND else reply.read_as(kind)

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()


def _refused(reply: Reply) -> NotApplied:
    error = reply.content_as(Refusal).error
    return Stale() if error == STALE else RefusedError(f"refused: {error}")

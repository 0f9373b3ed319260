"""ZooKeeper sessions with a deadline for every call, and without retries.

kazoo keeps a session alive: its thread sends heartbeats, and moves the session to another
member when a connection breaks. Its recipes and its `retry` are not used. After a session
is lost, kazoo would continue in a new one; here the session ends, because its ephemeral
znodes are gone and its user must notice.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionLoss,
    InvalidACLError,
    NoAuthError,
    NoNodeError,
    OperationTimeoutError,
    SessionExpiredError,
    SessionMovedError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.retry import KazooRetry

from workloads.client import NotApplied, Unknown
from workloads.settings import LockSettings, StorageSettings

RECONNECT = 0.05  # seconds between two tries to find a member
POLL = 0.0002  # seconds
HALF_A_MILLISECOND = 0.0005  # seconds

FORBIDDEN = (AuthFailedError, InvalidACLError, NoAuthError)
"""The refusals of a request that certainly did nothing."""
_DOUBT = (ConnectionClosedError, ConnectionLoss, KazooTimeoutError, OperationTimeoutError, SessionMovedError)


class ZookeeperSession:
    """One session, from its opening to its end."""

    def __init__(self, endpoints: Sequence[str], lifetime: float, timeout: float, login: str = "") -> None:
        """Open a session; NotApplied if that takes longer than the timeout.

        The session expires `lifetime` seconds after its last heartbeat. `login` is "user:password".
        """
        self._timeout = timeout  # seconds; of each call
        self._lost = False
        self._suspended = False
        self._client: Any = KazooClient(
            hosts=",".join(endpoints),
            timeout=lifetime + HALF_A_MILLISECOND,  # kazoo truncates to whole milliseconds
            randomize_hosts=False,
            auth_data=[("digest", login)] if login else None,
            connection_retry=KazooRetry(max_tries=-1, delay=RECONNECT, backoff=1),
        )
        self._client.add_listener(self._changed)
        if not self._client.start_async().wait(timeout):
            self.close()
            raise NotApplied("no session")

    @property
    def is_lost(self) -> bool:
        """Has the session expired, with all its ephemeral znodes?"""
        return self._lost

    def call(self, request: str, *arguments: Any, **more: Any) -> Any:
        """Send one request, such as "exists", and return its answer.

        Raises NotApplied if the session is lost, Unknown if no answer came, and kazoo's errors
        for a refusal: NoNodeError, NodeExistsError.
        """
        self._check()
        return self._answer(getattr(self._client, f"{request}_async")(*arguments, **more))

    def call_each(self, request: str, arguments: Iterable[Any]) -> list[Any]:
        """Send the same request for each argument, pipelined, and return the answers."""
        self._check()
        send = getattr(self._client, f"{request}_async")
        return [self._answer(answer) for answer in [send(argument) for argument in arguments]]

    def transact(self, add: Callable[[Any], None], sent: Callable[[], None]) -> list[Any]:
        """Send the transaction that `add` fills, call `sent`, and return each answer or error."""
        self._check()
        transaction = self._client.transaction()
        add(transaction)
        request = transaction.commit_async()
        if self._has_left():
            sent()
        answers: list[Any] = self._answer(request)
        return answers

    def delete(self, path: str) -> int:
        """Delete a znode and everything under it; return how many there were."""
        deleted = 0
        try:
            for name in self.call("get_children", path):
                deleted += self.delete(f"{path}/{name}")
            self.call("delete", path)
        except NoNodeError:  # it has just gone with its session
            return deleted
        return deleted + 1

    def delete_and_end(self, *paths: str) -> int:
        """Delete znodes and everything under them, and end the session; return how many there were."""
        try:
            return sum(map(self.delete, paths))
        finally:
            self.end()

    def end(self) -> None:
        """Close the session and its ephemeral znodes; Unknown if the servers did not confirm it."""
        was_lost = self._lost
        closing = self._begin_to_close()
        closing.join(self._timeout)
        if not was_lost and (closing.is_alive() or self._suspended):
            raise Unknown("the servers did not confirm that the session ended")

    def close(self) -> None:
        """Close the session in the background."""
        self._begin_to_close()

    def _begin_to_close(self) -> threading.Thread:
        """Close in a thread: kazoo is slow to close while the servers do not answer."""
        closing = threading.Thread(target=_close, args=(self._client,), daemon=True)
        closing.start()
        return closing

    def _changed(self, state: str) -> None:
        self._lost = self._lost or state == KazooState.LOST
        if state != KazooState.LOST:
            self._suspended = state == KazooState.SUSPENDED

    def _check(self) -> None:
        if self._lost:
            raise NotApplied("session lost")

    def _has_left(self) -> bool:
        """Wait until kazoo's thread has sent its queue: kazoo has no event for that."""
        deadline = time.monotonic() + self._timeout
        while self._client._queue and time.monotonic() < deadline:  # noqa: SLF001 - it has no public name
            time.sleep(POLL)
        return not self._client._queue  # noqa: SLF001 - it has no public name

    def _answer(self, request: Any) -> Any:
        try:
            return request.get(timeout=self._timeout)
        except _DOUBT as error:
            raise Unknown(f"{type(error).__name__} {error}".strip()) from error
        except SessionExpiredError as error:  # it never left, or the servers refused it
            raise NotApplied("session lost") from error
        except FORBIDDEN as error:
            raise NotApplied(type(error).__name__) from error


def _close(client: Any) -> None:
    client.stop()
    client.close()


def login_of(settings: LockSettings | StorageSettings) -> str:
    """Return the login of a client; "" for none."""
    return f"{settings.user}:{settings.password}" if settings.user else ""

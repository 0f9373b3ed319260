"""A Redis connection with a deadline for every step, and without retries.

redis-py's clients retry on their own; this uses only its connection, which sends one
command and reads one answer.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from redis.backoff import NoBackoff
from redis.connection import Connection
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ConnectionError,  # noqa: A004 - redis-py's own
    MasterDownError,
    NoPermissionError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.retry import Retry

from checkers.text.limits import MIB, described
from workloads.client import NotApplied, Unknown
from workloads.redis_sentinel import find_primary
from workloads.settings import LockSettings, RedisLockSettings, StorageSettings, host_and_port
from workloads.unsolicited_data import GREETING

_PAGE = 1000  # keys looked at in one step
MAX_ANSWER = 16 * MIB  # bytes

_REFUSALS = (AuthenticationError, BusyLoadingError, MasterDownError, NoPermissionError, ReadOnlyError)
"""Errors that Redis sends before it runs a command; any other may come from the middle of a script."""


class LimitedSocket(socket.socket):
    """A socket that gives no more of one answer than its limit: redis-py has none."""

    limit = MAX_ANSWER  # bytes
    received = 0

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """As redis-py reads by itself."""
        data = super().recv(size, flags)
        self._count(len(data))
        return data

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        """As hiredis reads, where it is installed."""
        size = super().recv_into(buffer, nbytes, flags)
        self._count(size)
        return size

    def _count(self, size: int) -> None:
        self.received += size
        if self.received > self.limit:
            raise ConnectionError(f"the answer has more than {described(self.limit)}")


class _Connection(Connection):
    _sock: Any

    def _connect(self) -> LimitedSocket:
        opened = super()._connect()  # type: ignore[no-untyped-call]  # redis-py has no types here
        timeout = opened.gettimeout()
        limited = LimitedSocket(fileno=opened.detach())
        limited.settimeout(timeout)
        return limited

    def expect(self, limit: int) -> None:
        """Begin to count a new answer."""
        self._sock.limit, self._sock.received = limit, 0


class RedisConnection:
    """One connection, opened by the first command; an error with unknown outcome closes it."""

    def __init__(
        self,
        endpoint: str,
        timeout: float,
        password: str = "",
        user: str | None = None,
        find: Callable[[], str] | None = None,
    ) -> None:
        """`timeout` is in seconds, for each step; an empty password is not sent.

        `find` returns the endpoint of each new connection in place of `endpoint`, or raises NotApplied.
        """
        self._find = find
        host, port = host_and_port(endpoint)
        self._connection: Any = _Connection(  # type: ignore[no-untyped-call]  # redis-py has no types here
            host=host,
            port=port,
            username=(user or None) if password else None,
            password=password or None,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),
            protocol=2,  # no HELLO before the first command
            driver_info=None,
            decode_responses=True,
        )

    def execute(
        self, *command: str | int, sent: Callable[[], None] | None = None, limit: int = MAX_ANSWER
    ) -> Any:
        """Send one command, call `sent`, and return its answer of at most `limit` bytes.

        Raises NotApplied if the server refused it or was never reached, Unknown for any other error.
        """
        self._open()
        return self._exchange(command, sent, limit)

    def execute_on_same_connection(self, *command: str | int) -> Any:
        """Send a command on the same connection as the previous one, and return its answer.

        For commands about a connection, such as WAIT. Raises Unknown if it has been closed.
        """
        if not self._connection.is_connected or self._has_something_to_read():
            self.close()
            raise Unknown("the connection was closed in between")
        return self._exchange(command)

    def _exchange(
        self,
        command: tuple[str | int, ...],
        sent: Callable[[], None] | None = None,
        limit: int = MAX_ANSWER,
    ) -> Any:
        self._connection.expect(limit)
        try:
            self._connection.send_command(*command)
            if sent is not None:
                sent()
            return self._connection.read_response()
        except _REFUSALS as error:
            if isinstance(error, ReadOnlyError):  # it is no primary any more: find the new one
                self.close()
            raise NotApplied(str(error)) from error
        except ResponseError as error:
            raise (NotApplied if _is_too_alone(error) else Unknown)(str(error)) from error
        except RedisError as error:
            self.close()
            raise Unknown(str(error)) from error

    def close(self) -> None:
        """Drop the connection; the next command opens a new one."""
        self._connection.disconnect()

    def _open(self) -> None:
        if self._connection.is_connected and self._has_something_to_read():
            self.close()  # the server closed it, or sent unsolicited data
        if self._connection.is_connected:
            return
        if self._find is not None:
            self._connection.host, self._connection.port = host_and_port(self._find())
        try:
            self._connection.connect()
        except RedisError as error:  # no command has left yet
            self.close()
            raise NotApplied(f"not connected: {error}") from error
        if self._has_something_to_read(GREETING):
            self.close()
            raise NotApplied(
                "not connected: the server closed the connection, or sent data before any request"
            )

    def delete(self, prefix: str) -> int:
        """Delete the keys that begin with a prefix, page by page; return how many there were."""
        pattern = re.sub(r"([*?\[\]\\])", r"\\\1", prefix) + "*"
        cursor, deleted = "0", 0
        while True:
            cursor, page = self.execute("SCAN", cursor, "MATCH", pattern, "COUNT", _PAGE)
            if page:
                deleted += self.execute("UNLINK", *page)
            if cursor == "0":
                return deleted

    def _has_something_to_read(self, within: float = 0) -> bool:
        """Poll for `within` seconds; end-of-file counts too."""
        try:
            return bool(self._connection.can_read(within))
        except RedisError:
            return True


def _is_too_alone(error: ResponseError) -> bool:
    """Does a primary refuse a write for want of replicas (min-replicas-to-write)?

    A script is refused at its first write and not at a later one (scriptVerifyWriteCommandAllow of Redis 7
    and 8, and of Valkey), so that it has changed nothing. redis-py has no class for this error.
    """
    code, _, _ = str(error).partition(" ")
    return code == "NOREPLICAS"


def connection(settings: LockSettings | StorageSettings, endpoint: str = "") -> RedisConnection:
    """Make a connection, by default to the first server or the primary, which the first command opens."""
    at = endpoint or settings.endpoints[0]
    find = None
    if isinstance(settings, RedisLockSettings) and settings.sentinels:
        find = partial(find_primary, settings)
    return RedisConnection(at, settings.timeout, settings.password, settings.user, find)

"""A client program in Python: a lock in Redis, and a register in PostgreSQL.

It implements the line protocol of docs/adapters.md: it reads one JSON object per line from
standard input, and answers each with one on standard output. Everything else goes to
standard error.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

GRANT = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('INCR', KEYS[2])
"""
RELEASE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
"""
WRITE = """
WITH written AS (
    UPDATE register SET value = %(value)s, token = %(token)s, mark = %(token)s
    WHERE resource = %(resource)s AND (mark < %(token)s OR %(unfenced)s)
    RETURNING resource, token, value
)
INSERT INTO audit (resource, token, value) SELECT resource, token, value FROM written RETURNING seq
"""


class FailedError(Exception):
    """The request certainly had no effect, and never will."""


class StaleError(Exception):
    """The fence refused the write."""


class Lock:
    """A key with an expiry, and a counter that rises with every grant, both set in one script.

    With `separate_incr`, a separate command increments the counter: a planted bug.
    """

    def __init__(self, lock: dict[str, Any], timeout: float, *, separate_incr: bool) -> None:
        host, port = lock["endpoints"][0].split(":")
        self._separate_incr = separate_incr
        self._ttl_ms = lock["ttl_ms"]
        self._redis = redis.Redis(
            host=host,
            port=int(port),
            password=lock["password"] or None,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),  # redis-py would repeat an unanswered script
        )

    def acquire(self, request: dict[str, Any]) -> dict[str, Any]:
        """Poll until the lock is free; the lease counts from when the successful request was sent."""
        keys = (f"lock:{request['resource']}", f"token:{request['resource']}")
        deadline = time.monotonic() + request["wait_ms"] / 1000
        while time.monotonic() < deadline:
            attempt = time.monotonic_ns()
            if token := self._granted(request, *keys):
                return {"token": token, "ttl_ms": self._ttl_ms, "attempt_ns": attempt}
            time.sleep(0.02)
        raise FailedError("not free in time")

    def _granted(self, request: dict[str, Any], key: str, counter: str) -> int | None:
        """Take the lock if it is free, and return its token."""
        owner = request["owner"]
        if not self._separate_incr:
            token: int | None = self._redis.eval(GRANT, 2, key, counter, owner, self._ttl_ms)
            return token
        if not self._redis.set(key, owner, nx=True, px=self._ttl_ms):
            return None
        say(id=request["id"], event="granted", wait=True)
        sys.stdin.readline()  # the line "go-on"
        return self._redis.incr(counter)

    def release(self, request: dict[str, Any]) -> dict[str, Any]:
        """Release the lock if we still hold it."""
        if not self._redis.eval(RELEASE, 1, f"lock:{request['resource']}", request["owner"]):
            raise FailedError("not the holder")
        return {}

    def stop(self, request: dict[str, Any]) -> dict[str, Any]:
        """Release the lock if we hold one; we end with our standard input."""
        return {} if request["owner"] is None else self.release(request)

    def reconnect(self) -> None:
        """Drop the connections; the next request opens a new one."""
        self._redis.connection_pool.disconnect()


class Register:
    """A row for each resource; one statement compares the token, writes, and logs what it wrote."""

    def __init__(self, storage: dict[str, Any], timeout: float, *, unfenced: bool) -> None:
        host, port = storage["endpoints"][0].split(":")
        login = f"user=fencepost password={storage['password']} dbname=fencepost"
        self._conninfo = f"host={host} port={port} {login}"
        self._timeout = timeout
        self._unfenced = unfenced
        self._connection: psycopg.Connection[Any] | None = None

    def write(self, request: dict[str, Any]) -> dict[str, Any]:
        """Write if the token is above the mark; otherwise it is stale if the row exists."""
        values = {**request, "unfenced": self._unfenced}
        if not self._execute(WRITE, values):
            if not self._execute("SELECT 1 FROM register WHERE resource = %(resource)s", request):
                raise FailedError(f"no row for {request['resource']}")
            raise StaleError
        return {}

    def read(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the value and the token of the last accepted write."""
        found = self._execute("SELECT value, token FROM register WHERE resource = %(resource)s", request)
        return dict(zip(("value", "token"), found[0] if found else (None, 0), strict=True))

    def reconnect(self) -> None:
        """Drop the connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _execute(self, statement: str, values: dict[str, Any]) -> list[Any]:
        connection = self._connection or self._connect()
        try:
            with ended_after(self._timeout, connection.fileno()):
                return connection.execute(statement, values).fetchall()
        except psycopg.Error as error:
            # PostgreSQL rolled back a statement that ended in an ERROR. Any other outcome is unknown.
            if error.diag.severity_nonlocalized == "ERROR" and error.sqlstate != "40003":
                raise FailedError(str(error)) from error
            raise

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            self._connection = psycopg.connect(self._conninfo, autocommit=True, connect_timeout=2)
        except psycopg.Error as error:  # no statement was sent
            raise FailedError(f"not connected: {error}") from error
        return self._connection


@contextmanager
def ended_after(seconds: float, descriptor: int) -> Iterator[None]:
    """Enforce a deadline on a socket; psycopg has none that holds while the server is stopped."""
    with socket.socket(fileno=socket.dup(descriptor)) as ours:
        timer = threading.Timer(seconds, ours.shutdown, (socket.SHUT_RDWR,))
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


class Client:
    """Executes the requests."""

    def __init__(self, start: dict[str, Any]) -> None:
        timeout = start["timeout_ms"] / 1000
        storage = start["storage"]
        self._lock = Lock(start["lock"], timeout, separate_incr="separate-incr" in sys.argv)
        self._register = Register(storage, timeout, unfenced=storage["fencing"] == "none")
        self._operations: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "acquire": self._lock.acquire,
            "release": self._lock.release,
            "revoke": self._lock.release,
            "stop": self._lock.stop,
            "write": self._register.write,
            "read": self._register.read,
            "reconnect": self._reconnect,
        }

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Execute a request and return its outcome; if in doubt, unknown."""
        operation = self._operations.get(request["op"])
        if operation is None:
            return {"outcome": "unsupported"}
        try:
            return {"outcome": "ok", **operation(request)}
        except StaleError:
            return {"outcome": "stale"}
        except FailedError as error:
            return {"outcome": "failed", "reason": str(error)}
        except Exception as error:  # noqa: BLE001 - a timeout or a broken connection: it may have taken effect
            return {"outcome": "unknown", "reason": str(error)}

    def _reconnect(self, _request: dict[str, Any]) -> dict[str, Any]:
        self._lock.reconnect()
        self._register.reconnect()
        return {}


def main() -> None:
    """Answer requests until standard input ends."""
    client: Client | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if client is None:  # the first request has the settings
            client, answer = Client(request), {"outcome": "ok", "stop": True}
        else:
            answer = client.answer(request)
        say(id=request["id"], **answer)


def say(**fields: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()

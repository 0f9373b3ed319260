"""A JetStream key-value bucket: each key has a JSON object, which an update replaces by its revision.

nats-py reconnects by itself, and then sends what it had not sent before; here it does not. Its `get`
says of a bucket that is gone that the key does not exist, so a client would create the key: here the
stream behind the bucket is asked. Nothing but `create` makes a bucket.

A key's revision is the number of its last message in that stream, which all keys share: it rises from
update to update, as long as there is the stream.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

import nats.errors
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import KeyValueConfig
from nats.js.errors import KeyWrongLastSequenceError, NotFoundError
from nats.js.kv import KeyValue

from workloads.client import NotApplied, Unknown
from workloads.settings import Settings
from workloads.stored_object import LostRaceError, StoredObject

BUCKET = "fencepost"
REPLICAS = 3
CREATING = 20.0  # s; the servers of a cluster must have found each other
TRYING = 2.0  # s; each request of that
CLOSING = 1.0  # s
POLL = 0.1  # s
NO_MESSAGE = 10037  # err_code of an answer: the key has never been written

_BROKEN = (OSError, TimeoutError, nats.errors.TimeoutError, nats.errors.ConnectionClosedError, ValueError)

Answer = TypeVar("Answer")
Request = Callable[[JetStreamContext], Awaitable[Answer]]


def bucket_name(names: str) -> str:
    """Return the name of a run's bucket."""
    return f"{BUCKET}-{re.sub('[^A-Za-z0-9_-]', '-', names)}" if names else BUCKET


class _Connection:
    """A connection to a server.

    A thread runs the loop in which alone it is used: the caller's may have a loop that runs already.
    """

    def __init__(self) -> None:
        self.errors: list[str] = []  # what the server said that answers no request
        self._client = Client()
        self._closed = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @property
    def is_open(self) -> bool:
        """Is it open, as far as this side has heard?"""
        return not self._closed.is_set()

    def open(self, within: float, **options: Any) -> None:
        """Connect within a time (s); any of _BROKEN, or an error of nats-py."""
        connecting = self._client.connect(
            **options,
            allow_reconnect=False,
            max_reconnect_attempts=1,  # to open a connection; with 0, it would never give up
            reconnect_time_wait=0,
            error_cb=self._keep,
            closed_cb=self._note,
        )
        self._run(asyncio.wait_for(connecting, within))

    def answered(self, request: Request[Answer], within: float) -> Answer:
        """Return the answer to a request; any of _BROKEN, or an error of nats-py."""
        self.errors.clear()
        return self._run(self._answer(request, within))

    def close(self) -> None:
        """Close it, and end its thread."""
        with suppress(*_BROKEN, nats.errors.Error):
            self._run(asyncio.wait_for(self._client.close(), CLOSING))
        self._run(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def _answer(self, request: Request[Answer], within: float) -> Answer:
        """Wait for an answer for as long as the connection is open."""
        asked = asyncio.ensure_future(request(self._client.jetstream(timeout=within)))
        end = asyncio.ensure_future(self._closed.wait())
        try:
            await asyncio.wait((asked, end), timeout=within, return_when=asyncio.FIRST_COMPLETED)
            if asked.done() and not asked.cancelled():
                return asked.result()
        finally:
            asked.cancel()
            end.cancel()
        if self._closed.is_set():
            raise ConnectionResetError("the connection was closed before the answer")
        raise TimeoutError

    async def _keep(self, error: Exception) -> None:
        self.errors.append(str(error))

    async def _note(self) -> None:
        self._closed.set()


async def _cancel_all() -> None:
    """Cancel the other tasks of this loop, and wait for their end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=CLOSING)


class KeyValueBucket:
    """A bucket, over one connection to one server at a time; each call has a deadline."""

    def __init__(self, settings: Settings, first: int = 0) -> None:
        """Use the server with the number `first` first, and the next one after a call without an answer."""
        self._settings = settings
        self._at = first
        self._name = bucket_name(settings.names)
        self._stream = f"KV_{self._name}"
        self._keys = f"$KV.{self._name}."
        self._connection: _Connection | None = None

    def deadline(self) -> float:
        """Return when a call that begins now must end, by the monotonic clock (s)."""
        return time.monotonic() + self._settings.timeout

    def get(self, key: str, deadline: float) -> StoredObject | None:
        """Read a key from the server that leads its stream; None if it has never been written."""

        async def read(stream: JetStreamContext) -> StoredObject | None:
            try:
                found = await stream.get_msg(self._stream, subject=f"{self._keys}{key}")
            except NotFoundError as error:
                if error.err_code == NO_MESSAGE:
                    return None
                raise NotApplied(str(error)) from error
            return _stored(found.data, found.seq)

        return self._call(read, deadline)

    def replace(
        self, key: str, old: StoredObject | None, content: dict[str, Any], deadline: float
    ) -> StoredObject:
        """Create a key, or update the one that was read; LostRaceError if it has changed since."""
        last = int(old.version) if old else 0

        async def update(stream: JetStreamContext) -> StoredObject:
            keys = KeyValue(self._name, self._stream, self._keys, stream, direct=False)
            try:  # last 0 is what create sends; after a refusal that would read the key, too
                revision = await keys.update(key, json.dumps(content).encode(), last=last)
            except KeyWrongLastSequenceError as error:
                raise LostRaceError(str(error)) from error
            return StoredObject(content, str(revision))

        return self._call(update, deadline)

    def create(self) -> None:
        """Make the bucket, and wait until it answers; NotApplied or Unknown if that takes too long."""
        replicas = REPLICAS if len(self._settings.endpoints) >= REPLICAS else 1
        wanted = KeyValueConfig(bucket=self._name, replicas=replicas)

        async def make(stream: JetStreamContext) -> None:
            await stream.create_key_value(wanted)

        until = time.monotonic() + CREATING
        while True:
            try:
                self._call(make, time.monotonic() + TRYING)
                self.get(BUCKET, time.monotonic() + TRYING)
            except (NotApplied, Unknown):
                if time.monotonic() > until:
                    raise
                time.sleep(POLL)
            else:
                return

    def remove(self) -> bool:
        """Delete the bucket; False if there is none."""

        async def delete(stream: JetStreamContext) -> bool:
            try:
                return await stream.delete_stream(self._stream)
            except NotFoundError:
                return False

        return self._call(delete, self.deadline())

    def close(self) -> None:
        """Drop the connection: the next call opens a new one, to the next server."""
        self._at += 1
        self._drop()

    def _drop(self) -> None:
        opened, self._connection = self._connection, None
        if opened is not None:
            opened.close()

    def _call(self, request: Request[Answer], deadline: float) -> Answer:
        """Send a request, over a connection that is opened if there is none, and return its answer."""
        connection = self._opened(deadline)
        left = deadline - time.monotonic()
        if left <= 0:
            raise NotApplied("no time was left for another request")
        try:
            return connection.answered(request, left)
        except _BROKEN as error:
            self.close()
            raise Unknown(_described(error, connection)) from error
        except nats.errors.Error as error:
            raise Unknown(str(error)) from error

    def _opened(self, deadline: float) -> _Connection:
        """Return the open connection; NotApplied if there is none and none can be opened."""
        if self._connection and not self._connection.is_open:
            self._drop()
        if self._connection:
            return self._connection
        server = self._settings.endpoints[self._at % len(self._settings.endpoints)]
        made = _Connection()
        try:
            made.open(
                max(deadline - time.monotonic(), 0.001),
                servers=f"nats://{server}",
                user=self._settings.user or None,
                password=self._settings.password or None,
            )
        except (*_BROKEN, nats.errors.Error) as error:
            made.close()
            self._at += 1
            raise NotApplied(f"not connected: {_described(error, made)}") from error
        except BaseException:
            made.close()
            raise
        self._connection = made
        return made


def _described(error: Exception, connection: _Connection) -> str:
    return ", ".join(dict.fromkeys((str(error) or "no answer in time", *connection.errors)))


def _stored(data: bytes | None, revision: int | None) -> StoredObject:
    try:
        content = json.loads(data or b"")
    except (ValueError, RecursionError) as error:
        raise Unknown(f"not an object of Fencepost: {(data or b'')[:80]!r}") from error
    return StoredObject(content, str(revision))

"""A queue in the line protocol of docs/adapters.md: copy this file, and write a class like `Queue`.

It raises `Failed` only if the request certainly had no effect and never will; any other
exception, a deadline's too, means that its outcome is unknown.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

Fields = dict[str, Any]


class Failed(Exception):  # noqa: N818 (the word of the protocol)
    """The request had no effect, and never will."""


class Queue(Protocol):
    """A library that executes jobs."""

    versions: dict[str, str]

    async def submit(self, queue: str, job: str, due: float) -> None:
        """Hand in a job that may begin in `due` seconds."""

    async def take(self, queue: str, wait: float) -> Fields:
        """Wait for at most `wait` seconds for a handler to be called; return its job and token."""

    async def complete(self, queue: str, job: str, *, failed: bool) -> None:
        """Let the handler return or fail, and return when the queue has acknowledged that."""

    async def reconnect(self) -> None:
        """Drop all connections, unless the library connects again by itself."""


@dataclass(slots=True)
class Handlers:
    """The handlers that a library has called: each returns once Fencepost has completed its job."""

    begun: asyncio.Queue[tuple[str, int | None, asyncio.Future[None]]] = field(default_factory=asyncio.Queue)
    taken: dict[str, asyncio.Future[None]] = field(default_factory=dict)  # by job

    async def handle(self, job: str, token: int | None) -> None:
        """What the library's handler does: wait until the job is completed; raise if it is to fail."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.begun.put_nowait((job, token, done))
        await done

    async def take(self, wait: float) -> Fields:
        """Return the next job whose handler has begun."""
        try:
            job, token, self.taken[job] = await asyncio.wait_for(self.begun.get(), wait)
        except TimeoutError:
            raise Failed("no job came in time") from None
        return {"job": job, "token": token}

    def end(self, job: str, *, failed: bool) -> None:
        """Let the handler of a job return, or fail."""
        done = self.taken.pop(job, None)
        if done is None:
            raise Failed("this worker does not execute it")
        if failed:
            done.set_exception(RuntimeError("the job failed"))
        else:
            done.set_result(None)


async def serve(connect: Callable[[Fields], Awaitable[Queue]]) -> None:
    """Answer requests until standard input ends; `connect` gets the first one, with the settings."""
    queue: Queue | None = None
    while line := await asyncio.to_thread(sys.stdin.readline):
        request = json.loads(line)
        if queue is None:
            queue = await connect(request)
            answer: Fields = {"outcome": "ok", "versions": queue.versions}
        else:
            answer = await _answer(queue, request)
        print(json.dumps({"id": request["id"], **answer}), flush=True)  # noqa: T201 (the protocol)


async def _answer(queue: Queue, request: Fields) -> Fields:
    name, job = request.get("resource", ""), request.get("job", "")
    try:
        match request["op"]:
            case "submit":
                await queue.submit(name, job, request["due_ms"] / 1000)
            case "take":
                return {"outcome": "ok", **await queue.take(name, request["wait_ms"] / 1000)}
            case "complete":
                await queue.complete(name, job, failed=request["failed"])
            case "reconnect":
                await queue.reconnect()
            case _:
                return {"outcome": "unsupported"}
    except Failed as error:
        return {"outcome": "failed", "reason": str(error)}
    except Exception as error:  # noqa: BLE001 (a timeout, for example: it may have taken effect)
        return {"outcome": "unknown", "reason": str(error) or type(error).__name__}
    return {"outcome": "ok"}

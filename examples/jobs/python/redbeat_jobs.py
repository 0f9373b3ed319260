"""RedBeat on Redis: several Celery beats, of which the one with the lock executes what is due.

The lock lasts `ttl_ms`. Tasks are eager: the beat executes each one itself, and sends it to no worker.
"""

from __future__ import annotations

import asyncio
import os
import threading
import traceback
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

from celery import Celery
from celery.beat import Service
from protocol import Fields, Handlers, serve
from redbeat import RedBeatScheduler, RedBeatSchedulerEntry
from redbeat.schedules import rrule

PACKAGES = ("celery-redbeat", "celery", "redis")


class Beat:
    """A beat in a thread of its own; it ends with the process, and the process with it."""

    def __init__(self, start: Fields) -> None:
        self.versions = {name: version(name) for name in PACKAGES}
        self._timeout = start["timeout_ms"] / 1000
        self._loop, self._handlers = asyncio.get_running_loop(), Handlers()
        self._ended: dict[str, asyncio.Event] = {}  # of each job that is being executed
        lock = start["lock"]
        url = f"redis://:{lock['password']}@{lock['endpoints'][0]}/0"
        self._app = Celery("jobs", broker=url)
        self._app.conf.update(
            task_always_eager=True,
            redbeat_redis_url=url,
            redbeat_redis_options={"socket_timeout": self._timeout},
            redbeat_lock_timeout=lock["ttl_ms"] / 1000,
            beat_max_loop_interval=lock["ttl_ms"] / 4000,
        )

        @self._app.task(name="execute")
        def execute(job: str) -> None:
            self._execute(job)

        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        try:
            Service(self._app, scheduler_cls=RedBeatScheduler).start()
        except Exception:  # noqa: BLE001 (whatever it is, the process ends with it)
            traceback.print_exc()
        os._exit(1)  # as the command `celery beat` does

    def _execute(self, job: str) -> None:
        self._ended[job] = asyncio.Event()
        try:
            asyncio.run_coroutine_threadsafe(self._handlers.handle(job, None), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._ended[job].set)

    async def submit(self, _queue: str, job: str, due: float) -> None:
        """Save an entry that is due once; the library counts in whole seconds."""
        begins = datetime.now(UTC) + timedelta(seconds=due + 1)
        once = rrule("SECONDLY", count=1, dtstart=begins, app=self._app)
        entry = RedBeatSchedulerEntry(job, "execute", once, args=[job], app=self._app)
        await asyncio.to_thread(entry.save)

    async def take(self, _queue: str, wait: float) -> Fields:
        """Wait for this beat to execute a job."""
        return await self._handlers.take(wait)

    async def complete(self, _queue: str, job: str, *, failed: bool) -> None:
        """The task returns; its entry was marked before it began."""
        self._handlers.end(job, failed=failed)
        await asyncio.wait_for(self._ended[job].wait(), self._timeout)

    async def reconnect(self) -> None:
        """The library connects again by itself."""


async def connect(start: Fields) -> Beat:
    """Start the beat."""
    return Beat(start)


asyncio.run(serve(connect))

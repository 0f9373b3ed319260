"""APScheduler 4 on PostgreSQL: each worker is a scheduler, which submits, schedules and executes jobs.

The lease of a job lasts `ttl_ms`. The library does not count attempts, so there is no token.
"""

from __future__ import annotations

import asyncio
import inspect
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from uuid import UUID

from apscheduler import AsyncScheduler, JobReleased, current_job
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.eventbrokers.asyncpg import AsyncpgEventBroker
from apscheduler.triggers.date import DateTrigger
from protocol import Fields, Handlers, serve
from sqlalchemy.ext.asyncio import create_async_engine

TASK = "execute"
PACKAGES = ("APScheduler", "SQLAlchemy", "asyncpg")
handlers = Handlers()
executed: dict[str, UUID] = {}  # by job, its id in the library


async def execute(job: str) -> None:
    """Execute a job: the function that is scheduled."""
    executed[job] = current_job.get().id
    await handlers.handle(job, None)


class Scheduler:
    """A scheduler that executes one job at a time; the others may execute others of the same task."""

    def __init__(self, start: Fields) -> None:
        self.versions = {name.lower(): version(name) for name in PACKAGES}
        self._timeout = start["timeout_ms"] / 1000
        lock = start["lock"]
        lease = timedelta(milliseconds=lock["ttl_ms"])
        url = f"postgresql+asyncpg://fencepost:{lock['password']}@{lock['endpoints'][0]}/fencepost"
        engine = create_async_engine(url)
        lease_of_job, lease_of_scheduler = {}, {"lease_duration": lease}
        if "lock_expiration_delay" in inspect.signature(SQLAlchemyDataStore).parameters:  # 4.0.0a5
            lease_of_job, lease_of_scheduler = {"lock_expiration_delay": lease.total_seconds()}, {}
        self.scheduler = AsyncScheduler(
            SQLAlchemyDataStore(engine, **lease_of_job),
            AsyncpgEventBroker.from_async_sqla_engine(engine),
            max_concurrent_jobs=1,
            **lease_of_scheduler,
        )

    async def submit(self, _queue: str, job: str, due: float) -> None:
        """Add a schedule that fires once."""
        async with asyncio.timeout(self._timeout):
            trigger = DateTrigger(datetime.now(UTC) + timedelta(seconds=due))
            await self.scheduler.add_schedule(TASK, trigger, id=job, args=(job,))

    async def take(self, _queue: str, wait: float) -> Fields:
        """Wait for this scheduler to execute a job of any queue."""
        return await handlers.take(wait)

    async def complete(self, _queue: str, job: str, *, failed: bool) -> None:
        """The scheduler says that it has released the job; it never refuses that."""
        released = asyncio.Event()

        def is_mine(event: JobReleased) -> None:
            if (event.job_id, event.scheduler_id) == (executed[job], self.scheduler.identity):
                released.set()

        with self.scheduler.subscribe(is_mine, {JobReleased}):
            handlers.end(job, failed=failed)
            async with asyncio.timeout(self._timeout):
                await released.wait()

    async def reconnect(self) -> None:
        """The library connects again by itself."""


async def connect(start: Fields) -> Scheduler:
    """Start the scheduler of this worker."""
    mine = Scheduler(start)
    await mine.scheduler.__aenter__()  # it ends with the process
    await mine.scheduler.configure_task(TASK, func=execute, max_running_jobs=None)
    await mine.scheduler.start_in_background()
    return mine


asyncio.run(serve(connect))

"""A cron of one's own: several workers know the schedule, and a lock keeps them apart.

When a job is due, each worker takes the lock of the queue, and asks the storage whether the job has its
result. If not, it executes the job, and then releases the lock. The token of an execution is that of the
lock. A lease that ends while its holder is stopped lets a second worker run the same job.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from workloads.client import NotApplied
from workloads.client_loop import BACKOFF, Client, RecordedLock
from workloads.locks.renewals import SECOND
from workloads.run import Schedule, Taken

_POLL = 0.005  # seconds; a worker that waits looks so often whether the run is over


@dataclass(slots=True, kw_only=True)
class Cron:
    """A schedule, with one lock for each queue; the results are in the storage."""

    lock: RecordedLock
    client: Client
    schedule: Schedule
    started: Callable[[], int]  # ns; when the run started
    stopping: Callable[[], bool]
    _done: dict[str, int] = field(default_factory=dict)  # how many jobs of each queue have results

    def submit(self, queue: str, job: str, due: int) -> None:
        """Do nothing: every worker has the schedule."""

    def take(self, queue: str, owner: str) -> Taken:
        """Wait for a job that is due and has no result, and for the lock."""
        tries = 0
        while self._wait_until_due(queue):
            tries += 1
            name = f"{owner}.{tries}"
            grant = self.lock.acquire(queue, name)
            if not grant.ok:
                time.sleep(BACKOFF)
                continue
            if (job := self._without_result(queue)) is not None:
                return Taken(job=job, owner=name, token=grant.fields["token"])
            self.lock.release(queue, name)
        raise NotApplied("the run is over")

    is_executing = True  # it is the worker itself

    def complete(self, queue: str, taken: Taken, *, failed: bool) -> None:  # noqa: ARG002
        """Release the lock, if it was not lost; the result in the storage is what ends the job."""
        self.lock.release(queue, taken.owner)

    def reconnect(self) -> None:
        """Drop the connections to the lock service."""
        self.lock.lock.reconnect()

    def close(self) -> None:
        """Stop renewals, and drop every connection to the lock service."""
        self.lock.lock.close()

    def _wait_until_due(self, queue: str) -> bool:
        """Wait until the first job without a known result is due; False if the run is over before."""
        number = self._done.get(queue, 0)
        is_last = number == len(self.schedule.jobs(queue))
        while not self.stopping():
            left = math.inf if is_last else self.schedule.due(number, self.started()) - time.monotonic_ns()
            if left <= 0:
                return True
            time.sleep(min(left / SECOND, _POLL))
        return False

    def _without_result(self, queue: str) -> str | None:
        """Return the first job that is due and has no result; None also if the storage does not answer."""
        jobs = self.schedule.jobs(queue)
        for number in range(self._done.get(queue, 0), len(jobs)):
            if self.schedule.due(number, self.started()) > time.monotonic_ns():
                return None
            answer = self.client.read(jobs[number])
            if not answer.ok:
                time.sleep(BACKOFF)
                return None
            if answer.fields["value"] is None:
                return jobs[number]
            self._done[queue] = number + 1
        return None

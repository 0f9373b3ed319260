"""Run: workers take jobs from a queue, and each job is to run once.

A worker repeats: it takes a job, works, writes the job's result with the number of the attempt as its token,
and completes the job. The first client submits them all at the start: one for each interval of the run.

The result is a write to a resource that is named like the job. It has a process number of its own, because
the execution around it is an operation, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from workloads.client import NotApplied, Session
from workloads.client_loop import BACKOFF, Client, HeldLock


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A job that a worker got, to execute it."""

    job: str
    owner: str  # names the execution
    token: int | None  # the number of the attempt, as the queue gives it


class JobQueue(Protocol):
    """A client of a queue; it executes one job at a time, or none."""

    def submit(self, queue: str, job: str, due: int) -> None:
        """Hand in a job that may begin at `due` (ns, CLOCK_MONOTONIC)."""

    def take(self, queue: str, owner: str) -> Taken:
        """Wait for a job until the run ends; NotApplied if none came. `owner` is new for each call."""

    @property
    def is_executing(self) -> bool:
        """Does what executes the job still exist?"""

    def complete(self, queue: str, taken: Taken, *, failed: bool) -> None:
        """End the execution, and wait until the queue acknowledges it; NotApplied if the queue refuses."""

    def reconnect(self) -> None:
        """Drop every connection: the next call opens new ones."""

    def close(self) -> None:
        """Stop background work, and drop every connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When jobs are due: one in each interval, on every queue."""

    every: int  # ns
    duration: int  # ns

    def jobs(self, queue: str) -> tuple[str, ...]:
        """Return the names of all jobs of a queue, in the order in which they are due."""
        return tuple(f"{queue}-{number}" for number in range(self.duration // self.every))

    def due(self, number: int, started: int) -> int:
        """Return when a job is due in a run that started then (ns)."""
        return started + number * self.every


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWorker:
    """A client that executes jobs; `client` writes their results."""

    client: Client
    queue: JobQueue
    session: Session
    queues: Sequence[str]
    leaving: Callable[[], bool] = lambda: False  # was it asked to leave? It completes its job first
    sections: int = 0  # executions that earlier processes of this client began

    def submit(self, schedule: Schedule, started: int) -> None:
        """Submit every job of a run that started then (ns)."""
        for queue in self.queues:
            for number, job in enumerate(schedule.jobs(queue)):
                self._submit(queue, job, schedule.due(number, started))

    def run(self, stopping: Callable[[], bool]) -> None:
        """Repeat take, work and complete until `stopping` says so, or the worker is to leave."""
        nth = self.sections
        while not (stopping() or self.leaving()):
            nth += 1
            queue = self.client.rng.choice(self.queues)
            self.client.progress.waiting(queue)
            for taken in self._take(queue, f"{self.client.number}-{nth}"):
                self._execute(queue, taken)
            self.client.progress.exited()

    def _submit(self, queue: str, job: str, due: int) -> None:
        def submit() -> dict[str, Any]:
            self.queue.submit(queue, job, due)
            return {}

        if self.session.call("submit", queue, submit, job=job, due=due).outcome == "info":
            self.queue.reconnect()

    def _take(self, queue: str, owner: str) -> Iterator[Taken]:
        """Yield the job that the queue gives this worker, or none."""
        found: list[Taken] = []

        def take() -> dict[str, Any]:
            found.append(self.queue.take(queue, owner))
            return {"job": found[0].job}

        answer = self.session.call("take", queue, take)
        if answer.outcome == "info":
            self.queue.reconnect()
        if not answer.ok:
            time.sleep(BACKOFF)
        return iter(found)

    def _execute(self, queue: str, taken: Taken) -> None:
        client, held = self.client, HeldLock(taken.job, taken.owner, taken.token)
        client.check_token(held)
        ended: dict[str, Any] = {}  # a job whose process is gone ended at a moment that nobody saw

        def execute() -> dict[str, Any]:
            client.reached("acquired", held)
            client.think()
            self._report(queue, taken)
            client.reached("before-write", held)
            result = client.write_value(held, held.owner)
            client.reached("before-release", held)
            if self.queue.is_executing:
                ended["ended"] = time.monotonic_ns()
            self.queue.complete(queue, taken, failed=not result.ok)
            if not result.ok:
                raise NotApplied(f"its result was not written: {result.fields['error']}")
            return {}

        answer = self.session.call(
            "execute", queue, execute, ended, job=taken.job, owner=taken.owner, token=taken.token
        )
        if answer.outcome == "info":
            self.queue.reconnect()

    def _report(self, queue: str, taken: Taken) -> None:
        """Record that the work is done, so that it shows even if the end of the execution stays unknown."""

        def heartbeat() -> dict[str, Any]:
            if not self.queue.is_executing:
                raise NotApplied("its program has ended")
            return {}

        self.client.session.call("heartbeat", queue, heartbeat, owner=taken.owner)

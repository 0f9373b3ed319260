"""A campaign in progress: an executor makes the runs; each is recorded, and repeated if it failed."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import psutil

from harness.campaign.execution import SERVERS, Finished, Order, RunWorker, execute, interrupt
from harness.campaign.night import Night
from harness.campaign.schedule import REPRODUCTIONS, Job, choose, fits
from harness.core.exit_codes import ExitCode
from harness.report.first_finding import fingerprint

CORES_PER_RUN = 2
MEMORY_PER_RUN = 3 << 30  # bytes
_SECONDS_BETWEEN = 0.5  # between two looks for runs that had not begun at the last one


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignProgress:
    """Where a campaign is."""

    running: tuple[Job, ...]
    waiting: int  # runs and repetitions that fit into the budget
    done: int  # runs, as the next two: repetitions are none
    left: int  # including those that the budget will not reach
    failed: int
    expected: int  # ns until the end, repetitions included

    @property
    def is_over(self) -> bool:
        """Is there nothing left to make?"""
        return not self.running and not self.waiting


Notify = Callable[[Finished | CampaignProgress], None]


def workers_here() -> int:
    """How many runs this machine can make at once without disturbing one another's timing."""
    cores, memory = os.cpu_count() or 1, psutil.virtual_memory().available
    return max(1, min(cores // CORES_PER_RUN, memory // MEMORY_PER_RUN))


class CampaignRunner:
    """Makes the runs of a night that are open."""

    def __init__(
        self,
        night: Night,
        *,
        workers: int,
        budget: int | None,
        fail_fast: bool,
        notify: Notify,
        executor: Executor | None = None,  # None: threads of this process
    ) -> None:
        self._night = night
        self._workers = workers
        self._budget = budget  # ns
        self._fail_fast = fail_fast
        self._notify = notify
        self._executor = executor
        self._began = time.monotonic_ns()
        self._waiting = list(night.open_jobs())
        self._finished = list(night.finished())
        self._running: dict[Future[Finished], tuple[Job, RunWorker]] = {}
        self._idle = [RunWorker() for _ in range(workers)]
        self._repeated: set[str] = set()  # fingerprints of the failures that are repeated
        self._waiting = [*self._reproductions_left(), *self._waiting]

    @property
    def left(self) -> int | None:
        """What is left of the budget, in ns; None if there is none."""
        return None if self._budget is None else self._budget - (time.monotonic_ns() - self._began)

    def run(self) -> tuple[Job, ...]:
        """Make the runs, and return those that did not fit into the budget; Ctrl-C ends those in progress."""
        executor = self._executor or ThreadPoolExecutor(self._workers)
        try:
            self._fill(executor)
            while self._running:
                done, _ = wait(self._running, return_when=FIRST_COMPLETED)
                for future in done:
                    _, worker = self._running.pop(future)
                    self._idle.append(worker)
                    self._end(future.result())
                self._fill(executor)
        except KeyboardInterrupt:
            self._interrupt()
            raise
        finally:
            if self._executor is None:
                wait(self._running)
            for worker in (*self._idle, *(worker for _, worker in self._running.values())):
                worker.close()
            executor.shutdown(cancel_futures=True)
            shutil.rmtree(self._night.path / SERVERS, ignore_errors=True)
        return tuple(self._waiting)

    def _interrupt(self) -> None:
        """Interrupt the runs in progress here until each has ended, as some may only be starting."""
        unfinished = set(self._running) if self._executor is None else set()
        while unfinished:
            interrupt(self._night.path)
            unfinished = wait(unfinished, timeout=_SECONDS_BETWEEN).not_done

    def _fill(self, executor: Executor) -> None:
        while self._idle and (chosen := self._next()):  # fits, even if a longer one is due first
            job, worker = chosen[0], self._idle.pop(chosen[1])
            self._waiting.remove(job)
            order = Order(job=job, night=self._night.path, engine=self._night.plan.engine)
            work = execute if self._executor else worker.execute  # a worker elsewhere keeps nothing
            self._running[executor.submit(work, order)] = job, worker
        self._notify(self._progress())

    def _next(self) -> tuple[Job, int] | None:
        elsewhere = {job.servers for job, _ in self._running.values()} - {""}
        return choose(self._fitting(), [worker.servers for worker in self._idle], elsewhere)

    def _fitting(self) -> list[Job]:
        """Return the runs and repetitions that will be made if each takes as long as expected."""
        if self._fail_fast and any(map(has_failed, self._finished)):
            return []
        elapsed = time.monotonic_ns() - self._began
        return [job for job in self._waiting if fits(job, elapsed, self._budget)]

    def _end(self, finished: Finished) -> None:
        self._night.record(finished)
        self._finished.append(finished)
        if not self._fail_fast:
            self._waiting = [*self._reproductions(finished), *self._waiting]
        self._notify(self._progress())  # first: the time that is left includes the repetitions of this run
        self._notify(finished)

    def _reproductions_left(self) -> Iterator[Job]:
        """The repetitions of failed runs that were not made before the campaign was killed."""
        made = {finished.job.id for finished in self._finished}
        for finished in self._finished:
            yield from (job for job in self._reproductions(finished) if job.id not in made)

    def _reproductions(self, finished: Finished) -> list[Job]:
        """The repetitions of a run: none unless it is the first that failed in its way."""
        job = finished.job
        if not has_failed(finished) or job.reproduction:
            return []
        shape = fingerprint(job.cell, finished.verdict) if finished.verdict else job.id
        if shape in self._repeated:
            return []
        self._repeated.add(shape)
        return [replace(job, reproduction=number) for number in range(1, REPRODUCTIONS + 1)]

    def _progress(self) -> CampaignProgress:
        running = tuple(job for job, _ in self._running.values())
        left = [*self._waiting, *running]
        done = [finished for finished in self._finished if not finished.job.reproduction]
        fitting = self._fitting()
        expected = sum(job.expected for job in (*fitting, *running)) // self._workers
        if self.left is not None:
            expected = min(expected, self.left)
        return CampaignProgress(
            running=running,
            waiting=len(fitting),
            done=len(done),
            left=sum(not job.reproduction for job in left),
            failed=sum(map(has_failed, done)),
            expected=max(0, expected),
        )


def has_failed(finished: Finished) -> bool:
    """Did a run show an unexpected violation, or fail to show an expected one?"""
    return finished.exit_code == ExitCode.VIOLATION

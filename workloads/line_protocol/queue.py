"""A queue backed by a program: its handler of a job runs until the worker completes the job."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from checkers.history.records import UNUSABLE
from checkers.text.printable import quoted
from workloads.client import NotApplied, Unknown
from workloads.line_protocol.clients import MILLISECOND, SECOND
from workloads.line_protocol.messages import TakeResult, convert_fields
from workloads.line_protocol.program_client import ProgramClient
from workloads.run import Taken

LONGEST_WAIT = 1000  # ms; of one request, so that a worker that is to leave is idle for no longer


class ProgramQueue:
    """The queue's side of a program."""

    def __init__(
        self,
        program: ProgramClient,
        jobs: Collection[str],
        ends: Callable[[], int],
        leaving: Callable[[], bool] = lambda: False,
    ) -> None:
        self._program = program
        self._jobs = jobs
        self._ends = ends  # when the run ends, ns
        self._leaving = leaving

    def submit(self, queue: str, job: str, due: int) -> None:
        """Ask the program to hand in a job that may begin at `due` (ns, CLOCK_MONOTONIC)."""
        self._program.request("submit", resource=queue, job=job, due_ms=_left(due))

    def take(self, queue: str, owner: str) -> Taken:
        """Ask the program, until the library has begun to execute a job."""
        found = self._asked_once(queue)
        while found is None:
            found = self._asked_once(queue)
        if found.job not in self._jobs:
            raise Unknown(f"{UNUSABLE}job {quoted(found.job)}, which nobody has submitted")
        return Taken(job=found.job, owner=owner, token=found.token)

    def _asked_once(self, queue: str) -> TakeResult | None:
        """Return the job; None if none came within a part of the time, NotApplied if none will come."""
        asked = time.monotonic_ns()
        wait = min(_left(self._ends()), LONGEST_WAIT)
        within = wait * MILLISECOND / SECOND
        try:
            carried = self._program.request("take", within=within, resource=queue, wait_ms=wait)
        except NotApplied:
            is_early = time.monotonic_ns() < asked + wait * MILLISECOND // 2  # its clock may be a coarser one
            if is_early or self._leaving() or not _left(self._ends()):
                raise
            return None
        return convert_fields(TakeResult, carried)

    @property
    def is_executing(self) -> bool:
        """Is the program, and so the handler of the job, still there?"""
        return not self._program.has_ended

    def complete(self, queue: str, taken: Taken, *, failed: bool) -> None:
        """Ask the program to let the handler return, or fail, and wait for what the queue says."""
        self._program.request("complete", resource=queue, job=taken.job, failed=failed)

    def reconnect(self) -> None:
        """Ask the program to drop its connections to the queue; what it executes may go on."""
        self._program.reconnect("lock")

    def close(self) -> None:
        """Leave the program: it ends with its client."""


def _left(moment: int) -> int:
    """Return how long it is until a moment (ns), in ms."""
    return max(0, moment - time.monotonic_ns()) // MILLISECOND

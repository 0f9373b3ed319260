"""One logical client is one OS process, so that a pause stops all of it.

A client announces each stop point in shared memory. If a stop is requested there, it
stops itself with SIGSTOP, and resumes once the nemesis has both cleared its `stopped`
flag and continued the process.

At SIGTERM it leaves in order, with exit code 0; the next process of the client continues its numbers.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from harness.clients.recorder import RecordedSession, Recorder
from harness.clients.shared_state import SharedProgress, SharedState
from harness.core.errors import ResourceExhaustedError
from harness.files.logs import take_output
from harness.files.run_folder import EVENTS, LOGS
from harness.processes.die_with_parent import adopt_orphans, die_with_parent
from harness.processes.process_tree import end_children
from harness.processes.program import ProgramCommand, RunningProgram, is_of_program
from workloads import append, register
from workloads.client import Answer, Lock, NoTokenError, Session, Storage
from workloads.client_loop import Client, Holder, RecordedLock
from workloads.cron import Cron
from workloads.custom_class import FailedClassError
from workloads.line_protocol.clients import ProgramLock, ProgramStorage
from workloads.line_protocol.program_client import BOTH_SIDES, ProgramClient, ProgramError, start_fields
from workloads.line_protocol.queue import ProgramQueue
from workloads.locks import connect as connect_lock
from workloads.run import JobQueue, JobWorker, Schedule
from workloads.settings import LockSettings, StorageSettings
from workloads.storages import load_kind

_POLL = 0.0005  # seconds
_LAST_TAKE = 200_000_000  # ns after the end of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTask:
    """Everything a client needs to know, sent once the servers run."""

    seed: int
    resources: tuple[str, ...]
    places: tuple[str, ...]  # what clients hold and write: the resources, and each job
    workload: str
    schedule: Schedule
    most_writes: int  # per hold
    think_time: tuple[float, float]  # seconds
    lock: LockSettings
    storage: StorageSettings
    command: ProgramCommand | None = None  # the program that is the client; None: Fencepost's own
    program_sides: frozenset[str] = BOTH_SIDES  # "lock", "storage", "queue": what that program does


def main(client: int, state: SharedState, folder: Path, tasks: Connection) -> None:
    """Run client number `client`: get ready, wait for the start, work until the stop."""
    leaving = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: leaving.set())  # in place of the fork server's
    die_with_parent()
    adopt_orphans()
    try:
        take_output(folder / LOGS / f"client-{client}.log")
        _run_client(client, state, folder, tasks, leaving)
    except (ResourceExhaustedError, OSError) as error:
        state.clients[client].used_up = error.errno or 0
        raise


def events_of(client: int, folder: Path) -> Path:
    """Return the file in the run's folder where a client records its events."""
    return folder / EVENTS / f"client-{client}.jsonl"


def _run_client(
    client: int, state: SharedState, folder: Path, tasks: Connection, leaving: threading.Event
) -> None:
    try:
        task: ClientTask = tasks.recv()
    except EOFError:  # the servers never came up
        return
    passwords = (task.lock.password, task.storage.password)
    is_first = state.clients[client].process == client
    recorder = Recorder(events_of(client, folder), passwords, new=is_first)
    try:
        with ExitStack() as programs:
            of_client = _ClientProcess(client, state, task, recorder, leaving, is_first)
            work = (_executions if task.workload == "run" else _holds)(of_client, programs)
            of_client.mine.ready = time.monotonic_ns()
            while not state.run.started:
                time.sleep(_POLL)
            work()
    except ProgramError as error:
        state.clients[client].failure = f"{task.command}: {error}".encode()[:1999]
        sys.exit(1)
    except FailedClassError as error:
        state.clients[client].failure = f"{error}".encode()[:1999]
        raise
    except NoTokenError as error:
        state.clients[client].no_token = 1
        sys.exit(str(error))
    recorder.close()


def _uncounted(_f: str, _answer: Answer) -> None:
    pass


@dataclass(frozen=True, slots=True)
class _ClientProcess:
    """What this process is made of."""

    number: int
    state: SharedState
    task: ClientTask
    recorder: Recorder
    leaving: threading.Event
    is_first: bool  # of this client

    @property
    def mine(self) -> Any:
        """Its part of the shared state."""
        return self.state.clients[self.number]

    @property
    def progress(self) -> SharedProgress:
        """What it announces in the shared state."""
        return SharedProgress(self.state, self.number, self.task.places, self.task.lock.ttl)

    def started(self) -> int:
        """When did the run start (ns)?"""
        return int(self.state.run.started)

    def is_over(self) -> bool:
        """Is the run over?"""
        return bool(self.state.run.stop)

    def session(self, process: int, ended: Callable[[str, Answer], None] = _uncounted) -> RecordedSession:
        """Return a session that begins with this process number."""
        progress, stride = self.progress, self.state.stride
        return RecordedSession(
            self.recorder, process, stride, ended, granted=progress.granted, leases=progress
        )

    def client_of_results(self, storage: Storage) -> Client:
        """Return the client that writes results of executions; a request to leave does not stop it."""
        results = self.session(self.mine.renewer, self.progress.ended)
        return self.client(results, storage, leaving=lambda: False)

    def client(self, session: Session, storage: Storage, leaving: Callable[[], bool]) -> Client:
        """Return the client of the storage."""
        return Client(
            number=self.number,
            think_time=self.task.think_time,
            rng=random.Random(f"{self.task.seed}/client/{self.number}"),
            session=session,
            storage=storage,
            fenced=self.task.storage.fencing != "none",
            progress=self.progress,
            leaving=leaving,
        )


def _holds(process: _ClientProcess, programs: ExitStack) -> Callable[[], None]:
    """Connect to both sides; the function returned works with locks until the run is over."""
    task, operations = process.task, process.session(process.mine.process, process.progress.ended)
    lock, storage = _sides(process, process.session(process.mine.renewer), programs)
    holder = Holder(
        client=process.client(operations, storage, process.leaving.is_set),
        lock=RecordedLock(lock, operations),
        resources=task.resources,
        fence_on_acquire=task.storage.fence_on_acquire,
        sections=process.mine.sections,
    )
    in_each_hold = partial(register.work, most_writes=task.most_writes)

    def work() -> None:
        holder.run(append.work if task.workload == "append" else in_each_hold, process.is_over)
        lock.close()

    return work


def _executions(process: _ClientProcess, programs: ExitStack) -> Callable[[], None]:
    """Connect to both sides; the function returned executes jobs until the run is over."""
    task = process.task
    if task.command is None or "queue" not in task.program_sides:
        queue, client = _cron(process, programs)
    else:
        queue, client = _queue(process, task.command, programs)
    worker = JobWorker(
        client=client,
        queue=queue,
        session=process.session(process.mine.process, process.progress.ended),
        queues=task.resources,
        leaving=process.leaving.is_set,
        sections=process.mine.sections,
    )

    def work() -> None:
        if process.is_first and process.number == 0:
            worker.submit(task.schedule, process.started())
        worker.run(process.is_over)
        queue.close()

    return work


def _cron(process: _ClientProcess, programs: ExitStack) -> tuple[JobQueue, Client]:
    """Return a cron over the lock, whose calls are a part of each take, and not recorded."""
    unrecorded = RecordedSession(
        Recorder(Path(os.devnull), process.recorder.passwords, new=False),
        process.mine.renewer,
        process.state.stride,
        granted=process.progress.granted,
    )
    lock, storage = _sides(process, unrecorded, programs)
    client = process.client_of_results(storage)
    cron = Cron(
        lock=RecordedLock(lock, unrecorded),
        client=client,
        schedule=process.task.schedule,
        started=process.started,
        stopping=lambda: process.is_over() or process.leaving.is_set(),
    )
    return cron, client


def _queue(process: _ClientProcess, command: ProgramCommand, programs: ExitStack) -> tuple[JobQueue, Client]:
    """Return the queue of the user's program, which takes jobs until a moment after the end of the run."""
    task = process.task
    program = _program(process, command, programs)
    programs.callback(_leave, process.leaving, program)
    queue = ProgramQueue(
        program,
        task.places,
        lambda: process.started() + task.schedule.duration + _LAST_TAKE,
        process.leaving.is_set,
    )
    return queue, process.client_of_results(_storage(task))


def _program(process: _ClientProcess, command: ProgramCommand, programs: ExitStack) -> ProgramClient:
    """Start the user's program, which ends with the stack."""
    task = process.task
    fields = start_fields(process.number, task.lock, task.storage, task.program_sides)
    start = partial(_start, command)
    return programs.enter_context(closing(ProgramClient(start, fields, task.storage.timeout)))


def _sides(process: _ClientProcess, renewals: Session, programs: ExitStack) -> tuple[Lock, Storage]:
    """Start the user's program, if there is one, and connect to each side that it does not do."""
    task, leaving = process.task, process.leaving
    if task.command is None:
        return connect_lock(task.lock, renewals), _storage(task)
    program = _program(process, task.command, programs)
    if "lock" not in task.program_sides:
        programs.callback(_leave, leaving, program)
        return connect_lock(task.lock, renewals), ProgramStorage(program)
    lock = ProgramLock(program, renewals, task.lock.ttl, leaving)
    programs.callback(_leave, leaving, program, lock)
    return lock, ProgramStorage(program, lock.restarted) if "storage" in task.program_sides else _storage(
        task
    )


def _leave(leaving: threading.Event, program: ProgramClient, lock: ProgramLock | None = None) -> None:
    """Let the program end by itself if the client is to leave."""
    if leaving.is_set():
        if lock is not None:
            lock.leave_in_order()
        program.leave()


def _start(command: ProgramCommand) -> RunningProgram:
    """Start the program, after the processes that an ended one has left behind were killed."""
    end_children(is_of_program)
    return command.start()


def _storage(task: ClientTask) -> Storage:
    return load_kind(task.storage.kind).connect(task.storage)

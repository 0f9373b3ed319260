"""One logical client is one OS process, so that a pause stops all of it.

A client announces each stop point in shared memory. If a stop is requested there, it
stops itself with SIGSTOP, and resumes once the nemesis has both cleared its `stopped`
flag and continued the process.
"""

from __future__ import annotations

import math
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from checkers.history.records import WRITES
from harness.clients.recorder import RecordedSession, Recorder
from harness.clients.shared_state import (
    ACQUIRED,
    ANY,
    NO_TOKEN,
    NOBODY,
    OUTSIDE,
    RENEWING,
    STOP_POINTS,
    SharedState,
)
from harness.core.errors import ResourceExhaustedError
from harness.files.logs import open_log
from harness.files.run_folder import EVENTS, LOGS
from harness.processes.die_with_parent import adopt_orphans, die_with_parent
from harness.processes.process_tree import end_children
from harness.processes.program import ProgramCommand, RunningProgram, is_of_program
from workloads import append, register
from workloads.client import STALE, Answer, Lock, NoTokenError, Session, Storage
from workloads.client_loop import Client, HeldLock
from workloads.custom_class import FailedClassError
from workloads.line_protocol.clients import ProgramLock, ProgramStorage
from workloads.line_protocol.program_client import BOTH_SIDES, ProgramClient, ProgramError, start_fields
from workloads.locks import connect as connect_lock
from workloads.settings import LockSettings, StorageSettings
from workloads.storages import load_kind

_POLL = 0.0005  # seconds
_AWAITED = 0.9  # TTLs in which a holder waits for a renewal: then its lease is nearly over


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTask:
    """Everything a client needs to know, sent once the servers run."""

    seed: int
    resources: tuple[str, ...]
    workload: str
    most_writes: int  # per hold
    think_time: tuple[float, float]  # seconds
    lock: LockSettings
    storage: StorageSettings
    command: ProgramCommand | None = None  # the program that is the client; None: Fencepost's own
    program_sides: frozenset[str] = BOTH_SIDES  # "lock", "storage": what that program does


@dataclass(frozen=True, slots=True)
class SharedProgress:
    """Reports this client's progress, and stops where the nemesis requests it."""

    state: SharedState
    client: int
    resources: tuple[str, ...]
    ttl: float = math.inf  # ns; a holder waits no longer for a renewal

    def waiting(self, resource: str) -> None:
        """Announce that this client asks for a lock."""
        mine = self.state.clients[self.client]
        mine.lease_end = mine.renewing = mine.released = 0  # those were of an earlier hold
        mine.sent = time.monotonic_ns()
        mine.awaited = self.resources.index(resource) + 1

    def reached(self, point: str, resource: str, owner: str, token: int | None) -> None:
        """Announce a stop point, and stop there if the nemesis requested it."""
        mine = self.state.clients[self.client]
        place = self.resources.index(resource)
        phase = STOP_POINTS.index(point) + 1
        if mine.owner != (known := owner.encode()[:31]):
            mine.granted = time.monotonic_ns()
        mine.resource, mine.token, mine.owner = place, NO_TOKEN if token is None else token, known
        mine.phase = phase
        mine.awaited = 0
        self._count(self.state.came, point)
        self._stop_if_asked(phase, place)
        if phase == ACQUIRED:
            self._await_renewal(place)

    def granted(self, resource: str, owner: str) -> None:
        """Announce the stop point inside an acquire, where the token may not be known yet."""
        self.reached("granted", resource, owner, None)

    def renewing(self, resource: str, owner: str) -> None:
        """Announce that the lease of a held lock is about to be renewed, in a thread beside the holder's."""
        self._count(self.state.came, "renewing")
        mine = self.state.clients[self.client]
        if mine.phase != OUTSIDE and mine.owner == owner.encode()[:31]:
            mine.renewing = time.monotonic_ns()
            self._stop_if_asked(RENEWING, self.resources.index(resource))

    def renewed(self) -> None:
        """Report that a renewal is over, however it ended."""
        self.state.clients[self.client].renewing = 0

    def granted_from(self, sent: int) -> None:
        """Report when the request was sent that was granted (ns); a renewal meanwhile is no such request."""
        self.state.clients[self.client].sent = sent

    def promised(self, end: int) -> None:
        """Report the end of the lease (ns)."""
        self.state.clients[self.client].lease_end = end

    def releasing(self) -> None:
        """Announce that the request to release the lock is about to leave."""
        self.state.clients[self.client].released = time.monotonic_ns()

    def _stop_if_asked(self, point: int, place: int) -> None:
        for request in self.state.stop_requests:
            if request.point == point and self._is_asked_by(request, place):
                self.state.clients[self.client].stopped = 1
                request.stopped_client = self.client
                self._stop()
                return

    def _await_renewal(self, place: int) -> None:
        """Hold the lock for longer, if a stop is requested during a renewal: most holds end before one.

        A holder that was not stopped meanwhile, and sent none, had a chance to renew its lease.
        """
        until = time.monotonic_ns() + _AWAITED * self.ttl
        for request in self.state.stop_requests:
            while request.point == RENEWING and self._is_asked_by(request, place):
                if self.state.run.stop:
                    return
                if time.monotonic_ns() > until:
                    self._count(self.state.chances, "renewing")
                    return
                time.sleep(_POLL)

    def _is_asked_by(self, request: Any, resource: int) -> bool:
        if self.state.clients[self.client].taken:
            return False
        if request.stopped_client != NOBODY or request.client not in (ANY, self.client):
            return False
        if request.resource == ANY:
            return all(other.reserved_resource != resource for other in self.state.stop_requests)
        return bool(request.resource == resource)

    def _stop(self) -> None:
        mine = self.state.clients[self.client]
        os.kill(os.getpid(), signal.SIGSTOP)
        while mine.stopped and not self.state.run.stop:
            time.sleep(_POLL)

    def accepted(self, resource: str, token: int | None) -> None:
        """Report an accepted write: it may supersede others."""
        mine = self.state.clients[self.client]
        written = self.state.written[self.client * self.state.resources + self.resources.index(resource)]
        written.token = NO_TOKEN if token is None else token
        written.sent, written.granted = mine.sent, mine.granted

    def exited(self) -> None:
        """Report the end of the critical section."""
        self.state.clients[self.client].awaited = 0
        self.state.clients[self.client].phase = OUTSIDE

    def ended(self, f: str, answer: Answer) -> None:
        """Count an operation: for the progress display, and to learn which stop points are reported."""
        self.state.operations[self.client] += 1
        if answer.ok and f == "acquire":
            self._count(self.state.chances, "granted")
        if answer.ok and f in WRITES:
            self._count(self.state.chances, "write-sent")
        if f in WRITES and (answer.ok or answer.fields.get("error") == STALE):
            self.state.writes[2 * self.client + (not answer.ok)] += 1

    def _count(self, counts: Any, point: str) -> None:
        counts[self.client * len(STOP_POINTS) + STOP_POINTS.index(point)] += 1


def main(client: int, state: SharedState, folder: Path, tasks: Connection) -> None:
    """Run client number `client`: get ready, wait for the start, work until the stop."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the fork server has its own handler
    die_with_parent()
    adopt_orphans()
    try:
        _log_to(folder / LOGS / f"client-{client}.log")
        _run_client(client, state, folder, tasks)
    except (ResourceExhaustedError, OSError) as error:
        state.clients[client].used_up = error.errno or 0
        raise


def events_of(client: int, folder: Path) -> Path:
    """Return the file in the run's folder where a client records its events."""
    return folder / EVENTS / f"client-{client}.jsonl"


def _run_client(client: int, state: SharedState, folder: Path, tasks: Connection) -> None:
    try:
        task: ClientTask = tasks.recv()
    except EOFError:  # the servers never came up
        return
    passwords = (task.lock.password, task.storage.password)
    recorder = Recorder(events_of(client, folder), passwords)
    try:
        with ExitStack() as programs:
            _work(_client(client, state, task, recorder, programs), state, task)
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


def _work(worker: Client, state: SharedState, task: ClientTask) -> None:
    state.clients[worker.number].ready = 1
    while not state.run.go:
        time.sleep(_POLL)
    worker.run(_in_each_hold(task), lambda: bool(state.run.stop))
    worker.lock.close()


def _log_to(path: Path) -> None:
    log = open_log(path)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)


def _client(
    client: int, state: SharedState, task: ClientTask, recorder: Recorder, programs: ExitStack
) -> Client:
    clients = len(state.clients)
    progress = SharedProgress(state, client, task.resources, task.lock.ttl)
    renewals = RecordedSession(
        recorder, clients + client, 2 * clients, granted=progress.granted, leases=progress
    )
    lock, storage = _sides(client, task, renewals, programs)
    return Client(
        number=client,
        resources=task.resources,
        think_time=task.think_time,
        rng=random.Random(f"{task.seed}/client/{client}"),
        session=RecordedSession(recorder, client, 2 * clients, progress.ended, leases=progress),
        lock=lock,
        storage=storage,
        fenced=task.storage.fencing != "none",
        fence_on_acquire=task.storage.fence_on_acquire,
        progress=progress,
    )


def _sides(client: int, task: ClientTask, renewals: Session, programs: ExitStack) -> tuple[Lock, Storage]:
    """Start the user's program, if there is one, and connect to each side that it does not do."""
    if task.command is None:
        return connect_lock(task.lock, renewals), _storage(task)
    fields = start_fields(client, task.lock, task.storage, task.program_sides)
    start = partial(_start, task.command)
    program = programs.enter_context(closing(ProgramClient(start, fields, task.storage.timeout)))
    if "lock" not in task.program_sides:
        return connect_lock(task.lock, renewals), ProgramStorage(program)
    lock = ProgramLock(program, renewals, task.lock.ttl)
    return lock, ProgramStorage(program, lock.restarted) if "storage" in task.program_sides else _storage(
        task
    )


def _start(command: ProgramCommand) -> RunningProgram:
    """Start the program, after the processes that an ended one has left behind were killed."""
    end_children(is_of_program)
    return command.start()


def _storage(task: ClientTask) -> Storage:
    return load_kind(task.storage.kind).connect(task.storage)


def _in_each_hold(task: ClientTask) -> Callable[[Client, HeldLock], None]:
    """Return the work that a client does in each hold."""
    if task.workload == "append":
        return append.work
    return partial(register.work, most_writes=task.most_writes)

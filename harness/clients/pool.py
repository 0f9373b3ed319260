"""The client processes of a run: start, assign work, watch and stop them."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from typing import NoReturn

import psutil

from harness.clients.process import ClientTask, events_of, main
from harness.clients.shared_state import SharedState
from harness.core import exhaustion
from harness.core.errors import ConfigurationError, InfrastructureError
from harness.files.logs import last_lines
from harness.files.run_folder import LOGS
from harness.processes import fork_server, process_tree
from workloads.client import GIVES_NONE

READY = 60.0  # seconds; many programs may start at once
LAST_LINES = 5  # of the log of a client that ended
GRACE = 1.0  # seconds, for operations in flight when the run ends
_POLL = 0.002  # seconds


@dataclass(slots=True)
class ClientPool:
    """One process at a time for each client of the target."""

    state: SharedState
    folder: Path
    context: ForkServerContext
    processes: list[ForkServerProcess] = field(default_factory=list)
    tasks: list[Connection] = field(default_factory=list)
    handles: list[psutil.Process] = field(default_factory=list)  # of clients that are ready, for the nemesis
    ended_by_faults: set[int] = field(default_factory=set)  # clients that a fault has killed, or is stopping
    _task: Callable[[int], ClientTask] = field(init=False)
    _reading: threading.Lock = field(default_factory=threading.Lock)  # of two, one would get no exit code

    def start(self, client: int) -> None:
        """Start the first process of a client, or its next one; it waits for its task."""
        receiving, sending = self.context.Pipe(duplex=False)
        process = self.context.Process(
            target=main, args=(client, self.state, self.folder, receiving), name=f"client-{client}"
        )
        self.processes[client : client + 1] = [process]
        process.start()
        receiving.close()
        self.tasks[client : client + 1] = [sending]

    def get_ready(self, task: Callable[[int], ClientTask]) -> None:
        """Send each its task, and wait until all are ready."""
        self._task = task
        self._get_ready(range(len(self.processes)))
        self.handles.extend(psutil.Process(process.pid) for process in self.processes)

    def start_again(self, client: int) -> tuple[int, int]:
        """Start the next process of a client whose process has ended.

        Returns the exit code of the ended one, and when the next one was ready (ns). Any thread may call it.
        Raises InfrastructureError if the next one is not ready in time.
        """
        with self._reading:
            ended = self.processes[client]
            ended.join()
            self.state.begin_again(client)
            self.start(client)
        self._get_ready([client])
        self.handles[client] = psutil.Process(self.processes[client].pid)
        return ended.exitcode or 0, self.state.clients[client].ready

    def _get_ready(self, clients: Sequence[int]) -> None:
        for client in clients:
            self.tasks[client].send(self._task(client))
        deadline = time.monotonic() + READY
        while not all(self.state.clients[client].ready for client in clients):
            self._check(clients)
            if time.monotonic() > deadline:
                raise InfrastructureError(f"the clients were not ready after {READY:.0f} s")
            time.sleep(_POLL)

    def check(self) -> None:
        """Raise InfrastructureError if a client has ended that no fault has ended.

        ConfigurationError if it ended because the lock gave no token to a storage that needs one.
        """
        self._check([each for each in range(len(self.processes)) if each not in self.ended_by_faults])

    def _check(self, clients: Sequence[int]) -> None:
        with self._reading:
            for client in clients:
                if self.processes[client].exitcode is not None:
                    self._fail(client)

    def _fail(self, client: int) -> NoReturn:
        self._check_room(client)
        if self.state.clients[client].no_token:
            raise ConfigurationError(GIVES_NONE)
        failure = self.state.clients[client].failure.decode(errors="replace")
        status = self.processes[client].exitcode
        why = f": {failure}" if failure else f" ended unexpectedly with status {status}"
        log = self.folder / LOGS / f"client-{client}.log"
        last = last_lines(log, LAST_LINES)
        said = f"its last lines in {log}:" if last else "its log is empty"
        raise InfrastructureError(f"client {client}{why}", *last, heading=said)

    def _check_room(self, client: int) -> None:
        """Raise ResourceExhaustedError if it ended because a resource was used up."""
        number = self.state.clients[client].used_up
        error = OSError(number, os.strerror(number))
        if full := exhaustion.as_exhausted(error, events_of(client, self.folder)):
            raise full

    def finish(self) -> None:
        """Give operations in flight a moment to end; a client that still waits for its lock is killed."""
        self.state.run.stop = 1
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and any(each.exitcode is None for each in self.processes):
            time.sleep(_POLL)
        end(self.processes)


@contextmanager
def started(
    count: int, resources: int, stop_requests: int, folder: Path, modules: Sequence[str] = ()
) -> Iterator[ClientPool]:
    """Start the processes; at the end of the block all have ended, even stopped ones.

    `modules` are imported once for all of them, before the first one starts.
    Call it from the main thread: the fork server, and so every client, dies with
    the thread that started it.
    """
    context = fork_server.started(["harness.clients.process", *modules])
    state = SharedState.create(context, count, resources, stop_requests)
    clients = ClientPool(state, folder, context)
    processes = clients.processes
    server: psutil.Process | None = None
    atexit.register(end, processes)  # a signal may come where no block ends them, and they would be joined
    try:
        for number in range(count):
            clients.start(number)
            server = server or _parent_of(processes[number])
        yield clients
    finally:
        end(processes)
        atexit.unregister(end)
        if server is not None:
            process_tree.end_offspring(server)  # it has adopted the orphans of the clients


def _parent_of(process: ForkServerProcess) -> psutil.Process | None:
    """Return the fork server; None if the process has already ended."""
    with suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).parent()
    return None


def end(processes: Sequence[ForkServerProcess]) -> None:
    """Kill processes with all their child processes, and wait for them."""
    begun = [process for process in processes if process.pid is not None]
    for process in begun:
        if process.exitcode is None:  # otherwise its pid may have been reused
            with suppress(psutil.NoSuchProcess):
                process_tree.end(psutil.Process(process.pid))
    for process in begun:
        process.join()

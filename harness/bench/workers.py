"""The clients of a bench: start them, give each an order, and gather what they measured."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import psutil

from harness.bench.orders import ClientOfBench, Measured, Order
from harness.bench.worker import main
from harness.clients import pool
from harness.core.duration import NS
from harness.core.errors import InfrastructureError
from harness.files.logs import last_lines
from harness.files.run_folder import LOGS
from harness.processes import fork_server

LAST_LINES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchWorkers:
    """The processes of all clients, which wait for orders."""

    start: Callable[[int], tuple[ForkServerProcess, Connection]]
    processes: list[ForkServerProcess]
    pipes: list[Connection]
    logs: Sequence[Path]
    patience: float  # s; an operation that began before the end of an order may take so long

    def carry_out(self, orders: Sequence[Order]) -> list[Measured]:
        """Let as many clients as there are orders carry out one each, at the same time.

        Raises InfrastructureError if one ends, or does not answer.
        """
        for client, order in enumerate(orders):
            self.give(client, order)
        return [self.answer(client, order) for client, order in enumerate(orders)]

    def give(self, client: int, order: Order) -> None:
        """Let one client carry out an order, and go on."""
        self.pipes[client].send(order)

    def answer(self, client: int, order: Order) -> Measured:
        """Wait for what a client has measured; InfrastructureError if it ends, or does not answer."""
        deadline = order.window.ends / NS["s"] + self.patience
        if not self.pipes[client].poll(max(0.0, deadline - time.monotonic())):
            raise InfrastructureError(
                f"no answer from client {client} {self.patience:.0f} s after the end of its order"
            )
        return self._answer(client)

    def handle(self, client: int) -> psutil.Process:
        """Return the process of a client, to stop it."""
        return psutil.Process(self.processes[client].pid)

    def replace(self, client: int) -> None:
        """Kill a client, and start its next process."""
        pool.end([self.processes[client]])
        self.processes[client], self.pipes[client] = self.start(client)

    def _answer(self, client: int) -> Measured:
        try:
            answer: Measured = self.pipes[client].recv()
        except EOFError:
            last = last_lines(self.logs[client], LAST_LINES)
            said = f"its last lines in {self.logs[client]}:" if last else "its log is empty"
            raise InfrastructureError(f"client {client} ended unexpectedly", *last, heading=said) from None
        return answer


@contextmanager
def started(
    count: int,
    client: Callable[[int], ClientOfBench],
    patience: float,
    folder: Path,
    modules: Sequence[str],
) -> Iterator[BenchWorkers]:
    """Start the clients; at the end of the block all have ended. Call it from the main thread."""
    context = fork_server.started(["harness.bench.worker", *modules])
    processes: list[ForkServerProcess] = []
    pipes: list[Connection] = []
    logs = [folder / LOGS / f"client-{number}.log" for number in range(count)]

    def start(number: int) -> tuple[ForkServerProcess, Connection]:
        ours, its = context.Pipe()
        process = context.Process(target=main, args=(logs[number], its), name=f"client-{number}")
        process.start()
        its.close()
        ours.send(client(number))
        return process, ours

    atexit.register(pool.end, processes)
    try:
        for number in range(count):
            process, pipe = start(number)
            processes.append(process)
            pipes.append(pipe)
        yield BenchWorkers(start=start, processes=processes, pipes=pipes, logs=logs, patience=patience)
    finally:
        pool.end(processes)
        atexit.unregister(pool.end)

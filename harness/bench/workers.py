"""The clients of a bench: start them, give each an order, and gather what they measured."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

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

    processes: Sequence[ForkServerProcess]
    pipes: Sequence[Connection]
    logs: Sequence[Path]
    patience: float  # s; an operation that began before the end of an order may take so long

    def carry_out(self, orders: Sequence[Order]) -> list[Measured]:
        """Let as many clients as there are orders carry out one each, at the same time.

        Raises InfrastructureError if one ends, or does not answer.
        """
        for pipe, order in zip(self.pipes, orders, strict=False):
            pipe.send(order)
        deadline = max(order.window.ends for order in orders) / NS["s"] + self.patience
        waiting: dict[Any, int] = {pipe: client for client, pipe in enumerate(self.pipes[: len(orders)])}
        answers: dict[int, Measured] = {}
        while waiting:
            ready: list[Any] = wait(list(waiting), timeout=max(0.0, deadline - time.monotonic()))
            if not ready:
                late = ", ".join(map(str, sorted(waiting.values())))
                raise InfrastructureError(f"no answer from client {late} {self.patience:.0f} s after the end")
            for pipe in ready:
                client = waiting.pop(pipe)
                answers[client] = self._answer(client)
        return [answers[client] for client in range(len(orders))]

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
    atexit.register(pool.end, processes)
    try:
        for number in range(count):
            ours, its = context.Pipe()
            process = context.Process(target=main, args=(logs[number], its), name=f"client-{number}")
            processes.append(process)
            pipes.append(ours)
            process.start()
            its.close()
            ours.send(client(number))
        yield BenchWorkers(processes=processes, pipes=pipes, logs=logs, patience=patience)
    finally:
        pool.end(processes)
        atexit.unregister(pool.end)

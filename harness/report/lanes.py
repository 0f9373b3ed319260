"""Lanes: the process numbers of a history, grouped by client."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.history.columns import Ints, Operations
from checkers.history.records import History


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a timeline, from the top.

    With `clients` = N, client i is the OS process whose main thread has the
    process numbers i, i+2N, i+4N, … and whose renewing thread has N+i, N+i+2N, …
    A history that does not say how many clients there were gets a lane per process.
    """

    names: tuple[str, ...]
    clients: int | None
    processes: dict[int, int]  # process number: lane

    def lane(self, process: int) -> int:
        """The position of a process' lane."""
        return process % self.clients if self.clients else self.processes[process]

    def of(self, processes: Ints) -> Ints:
        """The positions of some processes' lanes."""
        if self.clients:
            return processes % self.clients
        return np.array([self.processes[process] for process in processes.tolist()], dtype=np.int64)

    def target(self, target: str) -> int | None:
        """The lane that a fault's target names (`client:3`), if it names one."""
        kind, _, rest = target.partition(":")
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        if kind != "client" or not digits:
            return None
        client = int(digits)
        if self.clients is None:
            return self.processes.get(client)
        return client if client < self.clients else None


def lanes(history: History) -> Lanes:
    """One lane per client, or per process if the clients are not known."""
    clients = history.header.clients
    if clients:
        names = tuple(f"client {client}" for client in range(clients))
        return Lanes(names, clients, {})
    numbers = np.unique(Operations.of(history.operations).columns.process).tolist()
    names = tuple(f"process {number}" for number in numbers)
    return Lanes(names, None, {number: lane for lane, number in enumerate(numbers)})

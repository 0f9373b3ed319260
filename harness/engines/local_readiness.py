"""Readiness of servers that are child processes of this one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from harness.engines.readiness import is_ready
from harness.network.systems import Unfit
from harness.network.topology import Server
from harness.processes.server_failure import not_ready
from harness.processes.supervisor import Child

READY_TIMEOUT = 20.0  # s; they take 1 to 2
POLL = 0.02  # s
FOREIGN = 5.0  # s from an unfit answer on our port until our own server must have ended, if it is not its own


def wait_for_server(server: Server, children: Sequence[Child], deadline: float) -> None:
    """Wait until a server answers, as `wait_for_child` does."""
    is_usable = partial(is_ready, server.system, server.address)
    wait_for_child(server.name, is_usable, children, deadline)


def wait_for_child(
    name: str, is_usable: Callable[[], bool], children: Sequence[Child], deadline: float
) -> None:
    """Wait for one of these children while all of them run.

    A server that is unfit may be another program's, which took the port before: then the child ends soon.
    """
    why = f"is not usable after {READY_TIMEOUT:g} s"
    unfit = False
    while True:
        try:
            if is_usable():
                return
        except Unfit as error:
            why = str(error)
            deadline = deadline if unfit else min(deadline, time.monotonic() + FOREIGN)
            unfit = True
        for child in children:
            child.check()
        if time.monotonic() > deadline:
            raise not_ready(name, why, _log(name, children))
        time.sleep(POLL)


def _log(name: str, children: Sequence[Child]) -> str:
    return next(child.read_log() for child in children if child.name == name)

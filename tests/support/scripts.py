"""Servers that are one Python file each, as processes: those of the examples, and the tests' own."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.network.ports import free_addresses
from harness.network.topology import Address, Server, Topology
from harness.processes.supervisor import Child, Supervisor
from tests.support.repository import ROOT

SCRIPTS = {
    "http": (ROOT / "examples/http-service/service.py", "--data", "data", "--policy", "inclusive"),
    "kahuna": (ROOT / "tests/support/kahuna_server.py",),
}
STARTING = 120.0  # s


@dataclass(frozen=True)
class ScriptCluster:
    """Servers that run."""

    servers: tuple[Server, ...]
    supervisor: Supervisor

    @property
    def children(self) -> list[Child]:
        return self.supervisor.children


class ScriptEngine:
    """Starts the script of a system for each of its servers."""

    def refusal(self, _topology: Topology) -> None:
        return None

    @contextmanager
    def start(
        self, topology: Topology, _run_id: str, folder: Path, _notify: Callable[[str], None]
    ) -> Iterator[ScriptCluster]:
        supervisor = Supervisor(folder / "servers", folder / "logs", {})
        supervisor.make()
        try:
            servers = tuple(
                started(supervisor, spec.name, spec.system, address)
                for spec, address in zip(topology.servers, free_addresses(len(topology.servers)), strict=True)
            )
            yield ScriptCluster(servers, supervisor)
        finally:
            supervisor.close()


def started(supervisor: Supervisor, name: str, system: str, address: Address, *options: str) -> Server:
    """Start a script, and wait until it listens."""
    child = supervisor.spawn(name, [sys.executable, *SCRIPTS[system], "--port", str(address.port), *options])
    wait_until_listening(child)
    return Server(name=name, system=system, address=address, upstream=address)


def wait_until_listening(child: Child) -> None:
    deadline = time.monotonic() + STARTING
    while "listening on" not in child.read_log():
        child.check()
        assert time.monotonic() < deadline, child.read_log()
        time.sleep(0.01)

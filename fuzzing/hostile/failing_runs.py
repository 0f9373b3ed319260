"""Runs that fail before their verdict, as their errors are made of logs that others wrote."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from harness.clients.admin import AdminClient
from harness.clients.pool import ClientPool
from harness.core.errors import InfrastructureError
from harness.core.events import RunStarted
from harness.engines.engine import Engine
from harness.files.logs import not_ready
from harness.files.run_folder import RunFolder
from harness.processes.program import ProgramCommand
from harness.run.runner import RunOptions
from harness.spec import Target


def _server(folder: Path) -> None:
    log = (folder / "server.log").read_bytes().decode(errors="replace")
    raise not_ready("etcd-1", "ended with status 1", log)


def _answer(folder: Path) -> None:
    detail = (folder / "detail").read_bytes().decode(errors="replace")
    raise InfrastructureError(f"postgres: its tables cannot be created: {detail}")


def _client(folder: Path) -> None:
    state = SimpleNamespace(used_up=0, no_token=False, failure=(folder / "failure").read_bytes())
    shared: Any = SimpleNamespace(clients=[state])
    ended: Any = [SimpleNamespace(exitcode=1)]
    ClientPool(state=shared, folder=folder, context=shared, processes=ended).check()


def _program(folder: Path) -> None:
    said = folder / "logs" / "client-0.log"
    command = ProgramCommand(words=("sh", "-c", f"cat {said.absolute()} >&2; exit 7"), marks={})
    AdminClient(command=command, start_fields={}, log=folder / "logs" / "admin.log").set_up(["r0"])


FAILURES: dict[str, Callable[[Path], None]] = {
    "a failed server": _server,
    "an answer of a server": _answer,
    "a failed client": _client,
    "a failed program": _program,
}


@contextmanager
def failing(name: str, folder: Path) -> Iterator[None]:
    """Let runs fail in one way, with the logs in a folder."""

    def run(target: Target, engine: Engine, options: RunOptions) -> Generator[Any, None, None]:
        made = RunFolder.create(options.runs, target.name)
        yield RunStarted(
            target=target.name,
            engine=engine.name,
            folder=made.path,
            seed=7,
            duration=target.workload.duration,
        )
        FAILURES[name](folder)

    with patch("harness.cli.run_targets.run", run):
        yield

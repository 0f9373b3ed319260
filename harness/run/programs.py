"""A user's program as clients of running servers, asked one request at a time, without a workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from harness.clients.admin import AdminClient
from harness.core.errors import InfrastructureError
from harness.core.printing import say
from harness.engines.engine import Cluster, Engine
from harness.engines.joined import with_attached
from harness.files import logs
from harness.files.run_folder import LOGS, RunFolder
from harness.processes import process_tree
from harness.processes.cleanup_process import programs_killed_at_end
from harness.processes.program import ProgramCommand, RunningProgram
from harness.processes.run_notes import temporary_folder
from harness.run import deployment
from harness.run.removal import removed_at_end
from harness.run.trial import set_up, set_up_lock
from harness.spec import Target
from harness.spec.attached import running_at
from workloads.line_protocol.program_client import BOTH_SIDES, ProgramClient, start_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """Starts the program of a target's [client] as clients."""

    target: Target
    command: ProgramCommand
    sides: frozenset[str]
    cluster: Cluster
    folder: RunFolder
    running: dict[int, RunningProgram] = field(default_factory=dict)  # the last one of each client

    def begin(self, client: int) -> ProgramClient:
        """Start one; ProgramError if it does not become ready."""
        task = deployment.task(self.target, self.cluster, self.folder.path, 0, client, self.command)
        fields = start_fields(client, task.lock, task.storage, self.sides)

        def start() -> RunningProgram:
            self.running[client] = self.command.start(self.log)
            return self.running[client]

        return ProgramClient(start, fields, task.storage.timeout)

    def admin(self) -> AdminClient:
        """Return the program without a client, for its set-up."""
        asked = deployment.admin_client(self.target, self.cluster, self.folder.path, self.command)
        hidden = dict.fromkeys(BOTH_SIDES - self.sides)
        return replace(asked, start_fields={**asked.start_fields, **hidden})

    @contextmanager
    def paused(self, client: int) -> Iterator[None]:
        """Stop all processes of a client with SIGSTOP during the block; raises InfrastructureError."""
        head = psutil.Process(self.running[client].process.pid)
        try:
            if process_tree.stop_all(head) is None:
                raise InfrastructureError(f"{self.command}: a process of it goes on after SIGSTOP")
            yield
        finally:
            process_tree.continue_all(head)

    @contextmanager
    def silence(self, side: str) -> Iterator[None]:
        """Stop the servers of a side during the block."""
        servers = self.servers(side)
        self.cluster.pause(servers)
        try:
            yield
        finally:
            self.cluster.resume(servers)

    def servers(self, side: str) -> tuple[str, ...]:
        """Return the started servers of a side: those that already run are not ours to stop."""
        if side == "lock":
            return () if running_at(self.target.lock) else self.target.lock.servers
        attached = running_at(deployment.storage_side(self.target))
        return () if attached else self.target.storage_servers

    @property
    def log(self) -> Path:
        """The file of the standard error of all."""
        return self.folder.path / LOGS / "client.log"


@contextmanager
def programs_on_servers(
    target: Target, sides: frozenset[str], engine: Engine, resources: Sequence[str]
) -> Iterator[Programs]:
    """Start the servers, and let the program prepare these resources; at the end everything is gone."""
    topology = deployment.topology(target, ())
    engine = with_attached(engine, topology)
    if refusal := engine.refusal(topology):
        raise refusal
    with ExitStack() as stack:
        folder = RunFolder.create(stack.enter_context(temporary_folder()), target.name)
        stack.enter_context(logs.limited(folder.path / LOGS))
        stack.enter_context(removed_at_end(deployment.belongings(target, folder.path), say))
        words = target.client.command if target.client else ()
        command = ProgramCommand.of_run(words, folder.run_id)
        stack.enter_context(programs_killed_at_end(folder.run_id))
        stack.enter_context(process_tree.no_orphans())
        cluster = stack.enter_context(engine.start(topology, folder.run_id, folder.path, say))
        set_up_lock(target, cluster, folder.path)
        storage = deployment.storage_of(target, cluster, folder.path)
        set_up(storage, resources, running_at(deployment.storage_side(target)))
        programs = Programs(target=target, command=command, sides=sides, cluster=cluster, folder=folder)
        programs.admin().set_up(resources)
        yield programs

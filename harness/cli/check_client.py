"""Start servers and a program, and print whether it follows the line protocol."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from checkers.text.printable import LONGEST_LINE, shorten
from harness.clients.admin import LAST_LINES, AdminClient
from harness.core.duration import NS
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode
from harness.core.invocation import typed
from harness.core.printing import say, show
from harness.engines.choice import EngineName, choose
from harness.engines.engine import Cluster
from harness.engines.joined import with_attached
from harness.files import logs
from harness.files.logs import last_lines
from harness.files.run_folder import LOGS, RunFolder
from harness.nemesis.stop import GRACE, StopSpec
from harness.processes import process_tree
from harness.processes.cleanup_process import programs_killed_at_end
from harness.processes.program import ProgramCommand
from harness.processes.run_notes import temporary_folder
from harness.run import deployment
from harness.run.removal import removed_at_end
from harness.run.trial import set_up
from harness.spec import Target
from harness.spec.attached import running_at
from harness.spec.fields import CLASS_PATTERN, PROGRAM
from harness.spec.hazards import points_aimed_at
from harness.spec.reading import load_text
from workloads.line_protocol.conformance import RESOURCES, Expected, conformance
from workloads.line_protocol.program_client import BOTH_SIDES, ProgramClient, ProgramError, start_fields

NAME = "check-client"
CLIENTS = 2


def target_of(
    command: str, lock: str, storage: str, fencing: str, overrides: Sequence[str], *, is_queue: bool = False
) -> Target:
    """Return a target with this program and these servers; ConfigurationError names what is wrong.

    A queue leaves the storage to Fencepost, but has none here unless one is named: nothing is written.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"{shorten(command)}: is not a command: {error}") from None
    _refuse_what_a_run_checks(words)
    given = [
        f"client.command={json.dumps(words)}",
        f"lock.kind={lock}",
        f"storage.kind={'sqlite' if is_queue and storage == PROGRAM else storage}",
        f"storage.fencing={fencing}",
        f"workload.clients={CLIENTS}",
        f"workload.resources={len(RESOURCES)}",
    ]
    if is_queue:
        given += ["client.side=queue", "workload.kind=run"]
    return load_text(f'name = "{NAME}"\nexpect = "valid"\n', NAME, [*given, *overrides])


def _refuse_what_a_run_checks(words: Sequence[str]) -> None:
    """Raise ConfigurationError for a class or a target file in place of a program."""
    word = words[0] if len(words) == 1 and shutil.which(words[0]) is None else ""
    if re.fullmatch(CLASS_PATTERN, word):
        raise ConfigurationError(
            f"{shorten(word)} is a class, not a program: name it as a kind in a target file,"
            " and check that with `fencepost validate FILE` and `fencepost run FILE`"
        )
    if word.endswith(".toml"):
        check, run = typed("validate", word), typed("run", word)
        raise ConfigurationError(
            f"{shorten(word)} is a target, not a program: check it with {check} and {run}"
        )


def check_program(target: Target, sides: Collection[str], engine: EngineName) -> ExitCode:
    """Print each check, and return whether all fit; 1 if one does not."""
    misfits = 0
    deployment.check(target)
    topology = deployment.topology(target, ())
    chosen = with_attached(choose(engine, say), topology)
    if refusal := chosen.refusal(topology):
        raise refusal
    with ExitStack() as stack:
        folder = RunFolder.create(stack.enter_context(temporary_folder()), NAME)
        stack.enter_context(logs.limited(folder.path / LOGS))
        stack.enter_context(removed_at_end(deployment.belongings(target, folder.path), say))
        words = target.client.command if target.client else ()
        command = ProgramCommand.of_run(words, folder.run_id)
        stack.enter_context(programs_killed_at_end(folder.run_id))
        stack.enter_context(process_tree.no_orphans())
        cluster = stack.enter_context(chosen.start(topology, folder.run_id, folder.path, say))
        storage = deployment.storage_of(target, cluster, folder.path)
        set_up(storage, RESOURCES, running_at(deployment.storage_side(target)))
        programs = _Programs(target, command, frozenset(sides), cluster, folder)
        programs.admin().set_up(RESOURCES)
        try:
            for check in conformance(programs.begin, _expected(target, frozenset(sides)), programs.silence):
                misfits += not check.fits
                found = shorten(check.found, LONGEST_LINE)
                show(f"{'ok   ' if check.fits else 'WRONG'} {check.request}: {found}")
        except ProgramError as error:
            raise ConfigurationError(f"{command}: {error}", *last_lines(programs.log, LAST_LINES)) from error
    wrong = f"{misfits} of these {'does' if misfits == 1 else 'do'} not fit: see docs/adapters.md"
    show(wrong if misfits else "everything fits")
    return ExitCode.VIOLATION if misfits else ExitCode.AS_EXPECTED


@dataclass(frozen=True, slots=True)
class _Programs:
    """Starts the program as clients of the running servers."""

    target: Target
    command: ProgramCommand
    sides: frozenset[str]
    cluster: Cluster
    folder: RunFolder

    def begin(self, client: int) -> ProgramClient:
        task = deployment.task(self.target, self.cluster, self.folder.path, 0, client, self.command)
        fields = start_fields(client, task.lock, task.storage, self.sides)
        return ProgramClient(lambda: self.command.start(self.log), fields, task.storage.timeout)

    def admin(self) -> AdminClient:
        """Return the program without a client, for its set-up."""
        asked = deployment.admin_client(self.target, self.cluster, self.folder.path, self.command)
        hidden = dict.fromkeys(BOTH_SIDES - self.sides)
        return replace(asked, start_fields={**asked.start_fields, **hidden})

    @contextmanager
    def silence(self, side: str) -> Iterator[None]:
        """Stop the servers of a side during the block."""
        servers = _servers(self.target, side)
        self.cluster.pause(servers)
        try:
            yield
        finally:
            self.cluster.resume(servers)

    @property
    def log(self) -> Path:
        return self.folder.path / LOGS / "client.log"


def _expected(target: Target, sides: frozenset[str]) -> Expected:
    return Expected(
        sides=sides,
        ttl=target.lock.ttl,
        fenced=target.fenced,
        policy=target.storage.policy,
        fence_on_acquire=target.storage.fence_on_acquire,
        served=frozenset(side for side in sides & BOTH_SIDES if _servers(target, side)),
        aimed_at=points_aimed_at(target.faults),
        grace=min((each.grace for each in target.faults if isinstance(each, StopSpec)), default=GRACE)
        / NS["s"],
    )


def _servers(target: Target, side: str) -> tuple[str, ...]:
    """Return the started servers of a side: those that already run are not ours to stop."""
    if side == "lock":
        return () if running_at(target.lock) else target.lock.servers
    return () if running_at(deployment.storage_side(target)) else target.storage_servers

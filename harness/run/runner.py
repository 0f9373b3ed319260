"""A run: servers, clients, faults, history, verdict, reported as events.

The verdict is known before the servers have stopped. However a run ends, its recording
stays in its folder, and can be judged with `recheck`.
"""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from checkers.history.records import Commit
from checkers.text.redaction import redacted
from harness.clients.admin import AdminClient
from harness.clients.pool import started
from harness.core import exhaustion
from harness.core.errors import InfrastructureError, ServerNotReadyError
from harness.core.events import Event, Notice, RunJudged, RunStarted, StageReached
from harness.core.invocation import typed
from harness.engines.engine import Cluster, Engine
from harness.engines.joined import with_attached
from harness.files import logs
from harness.files.environment import about_program, environment
from harness.files.run_files import ENVIRONMENT, ORDER_OF_WRITES
from harness.files.run_folder import COMMITS, HEADER, LOGS, RunFolder
from harness.nemesis.hazard_walk import stop_requests
from harness.nemesis.plan import PlannedFault
from harness.network.topology import edges
from harness.processes.cleanup_process import programs_killed_at_end
from harness.processes.program import ProgramCommand
from harness.run import deployment
from harness.run.recheck import judge_folder
from harness.run.removal import removed_at_end
from harness.run.server_logs import keep_logs, logs_kept_on_failure
from harness.run.trial import prove_usable, set_up, set_up_lock
from harness.run.workload_phase import WorkloadPhase
from harness.spec import Target
from harness.spec.attached import running_at
from harness.spec.executed import depends_on_folder, executed_here
from harness.spec.fields import PROGRAM
from harness.spec.hazards import plan_of
from harness.spec.reading import of_seed
from harness.spec.warnings import readable_passwords
from workloads import append, storages
from workloads.client import NotApplied, Unknown
from workloads.custom_class import FailedClassError
from workloads.settings import StorageSettings

SEEDS = 2**32
"""Seeds are drawn below this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run, without its target."""

    seed: int | None = None
    planned: tuple[PlannedFault, ...] | None = None  # None: drawn from the seed
    faults: bool = True
    runs: Path = Path("runs")
    command: tuple[str, ...] = ()
    again: tuple[str, ...] = ()  # the other options that repeat the run
    notify: Callable[[Event], None] = lambda _event: None  # gets events that cannot wait for the iterator


def run(target: Target, engine: Engine, options: RunOptions) -> Generator[Event, None, None]:
    """Run a target once, and yield its events; close the iterator to stop early.

    The first Ctrl-C (or SIGTERM) while the clients work ends the work: the
    recording is judged, and RunJudged says `interrupted`. Call it from the main
    thread. Raises InfrastructureError, or ConfigurationError.
    """
    seed = secrets.randbelow(SEEDS) if options.seed is None else options.seed
    target = of_seed(target, seed, faults=options.faults)
    faults = target.faults if options.faults else ()
    deployment.check(target)
    topology = deployment.topology(target, faults)
    engine = with_attached(engine, topology)
    if refusal := engine.refusal(topology):
        raise refusal
    exhaustion.provide_descriptors(exhaustion.descriptors_for(len(edges(topology))))
    header = partial(deployment.header, target, seed, faults, no_faults=not options.faults)
    folder = _folder(target, options.runs, header())
    yield from _announced(target, engine, folder, seed)
    command = ProgramCommand.of_run(target.client.command, folder.run_id) if target.client else None
    with ExitStack() as stack:
        stack.enter_context(_interrupt_said(options.notify))
        stack.enter_context(folder.in_use())
        cut = stack.enter_context(logs.limited(folder.path / LOGS))
        notify = _notices(options.notify, folder.passwords)
        stack.enter_context(removed_at_end(deployment.belongings(target, folder.path), notify))
        if command:
            stack.enter_context(programs_killed_at_end(folder.run_id))
        clients = stack.enter_context(
            started(
                target.workload.clients,
                len(deployment.places(target)),
                stop_requests(faults, target.workload.clients, target.workload.resources)[-1],
                folder.path,
                deployment.modules(target),
            )
        )
        yield StageReached(stage="starting", detail=deployment.listing(topology))
        servers = stack.enter_context(ExitStack())
        cluster = servers.enter_context(engine.start(topology, folder.run_id, folder.path, notify))
        logged = cluster.logs() if cluster.earlier_runs else {}
        servers.enter_context(logs_kept_on_failure(folder, cluster, logged))
        surroundings = environment(
            deployment.environment(cluster),
            options.command,
            options.again,
            own_code=depends_on_folder(target),
        )
        folder.write_json(ENVIRONMENT, surroundings)
        surroundings |= _set_up(target, cluster, folder.path, command)
        folder.write_json(ENVIRONMENT, surroundings)
        clients.get_ready(lambda client: deployment.task(target, cluster, folder.path, seed, client, command))
        phase = WorkloadPhase(
            target=target,
            faults=faults,
            planned=options.planned or plan_of(target, faults, seed),
            seed=seed,
            folder=folder,
            cluster=cluster,
            clients=clients,
        )
        with _interrupts() as interrupted:
            yield StageReached(stage="running", detail=deployment.work(target))
            yield from phase.run(interrupted)
            folder.write_json(HEADER, header(unreached=phase.unreached), indent=None)
            yield StageReached(stage="judging", detail="the recording")
            # Not reused: a server that was killed may listen on another port now.
            storage = deployment.storage_of(target, cluster, folder.path)
            admin = deployment.admin_client(target, cluster, folder.path, command) if command else None
            _keep_commits(target, storage, folder, admin, surroundings)
            keep_logs(folder, cluster, logged)
            stack.callback(_in_background(servers.pop_all().close))
            judged = judge_folder(folder.path)
        yield from (Notice(text=text) for text in (*judged.notices, *map(_cut, sorted(cut))))
        yield RunJudged(
            folder=folder.path,
            verdict=judged.verdict,
            document=judged.document,
            history=judged.history,
            report=folder.path / "report.html",
            interrupted=interrupted.is_set(),
        )
        if judged.failure:
            raise judged.failure
        yield StageReached(stage="stopping", detail=deployment.listing(topology))


def _announced(target: Target, engine: Engine, folder: RunFolder, seed: int) -> Iterator[Event]:
    yield RunStarted(
        target=target.name,
        engine=engine.name,
        folder=folder.path,
        seed=seed,
        duration=target.workload.duration,
    )
    yield from (Notice(text=text) for text in readable_passwords(target))


def _folder(target: Target, runs: Path, header: dict[str, Any]) -> RunFolder:
    """Create the run's folder, and keep that the user runs what the target names: that was decided by now."""
    executed_here(target).trust()
    folder = RunFolder.create(runs, target.name, deployment.passwords(target))
    folder.write_text("target.toml", target.source)
    folder.write_json(HEADER, header, indent=None)
    return folder


def _set_up(target: Target, cluster: Cluster, folder: Path, command: ProgramCommand | None) -> dict[str, Any]:
    """Prepare the servers for the first acquire; return what environment.json says of the user's program."""
    prove_usable(target, cluster, folder)
    set_up_lock(target, cluster, folder)
    storage = deployment.storage_of(target, cluster, folder)
    set_up(storage, deployment.written(target), running_at(deployment.storage_side(target)))
    if command is None:
        return {}
    admin = deployment.admin_client(target, cluster, folder, command)
    return {"program": about_program(command.words, admin.set_up(deployment.written(target)))}


def _notices(notify: Callable[[Event], None], passwords: tuple[str, ...]) -> Callable[[str], None]:
    return lambda text: notify(Notice(text=redacted(text, passwords)))


def _keep_commits(
    target: Target,
    storage: StorageSettings,
    folder: RunFolder,
    admin: AdminClient | None,
    surroundings: Mapping[str, Any],
) -> None:
    """Read the storage's own order of accepted writes, and write it into the run's folder, if it has one."""
    try:
        try:
            commits = _commits(target, storage, folder.recorded(), admin)
            if commits is None:
                return
            folder.write_commits(commits)
        except (FailedClassError, NotApplied, Unknown) as error:
            why = f"{storage.kind}: its order of writes could not be read: {error}"
            raise ServerNotReadyError(why) from error
    except InfrastructureError as error:
        error.add_note(f"judge what the clients saw with: {typed('recheck', folder.path)}")
        raise
    folder.write_json(ENVIRONMENT, {**surroundings, ORDER_OF_WRITES: COMMITS})


def _commits(
    target: Target, storage: StorageSettings, recorded: int, admin: AdminClient | None
) -> Iterable[Commit] | None:
    commits: Iterable[Commit] | None
    if admin and storage.kind == PROGRAM:
        commits = admin.committed(recorded)
    else:
        commits = storages.load_kind(storage.kind).committed(replace(storage, recorded=recorded))
    if commits is None or target.workload.kind != "append":
        return commits
    return map(append.with_parsed_list, commits)


def _cut(log: str) -> str:
    return f"{LOGS}/{log} was cut: it exceeded {logs.MOST >> 20} MiB"


def _in_background(work: Callable[[], None]) -> Callable[[], None]:
    """Start work in a thread; the function returned waits for its end, and raises its error."""
    pool = ThreadPoolExecutor(max_workers=1)
    done = pool.submit(work)
    pool.shutdown(wait=False)
    return done.result


def _interrupt_said(notify: Callable[[Event], None]) -> AbstractContextManager[None]:
    """Say at once that the run was interrupted: to stop what was started takes seconds."""

    def note(number: int, frame: FrameType | None) -> None:
        with suppress(RuntimeError):  # another line is just being printed
            notify(StageReached(stage="interrupted", detail="stopping what was started"))
        signal.default_int_handler(number, frame)

    return _handled(note)


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    previous = {each: signal.signal(each, handler) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, earlier in previous.items():
            signal.signal(each, earlier)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Record the first SIGINT or SIGTERM in an event, instead of raising KeyboardInterrupt."""
    interrupted = threading.Event()

    def note(_number: int, _frame: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    with _handled(note):
        yield interrupted

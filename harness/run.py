"""A run: servers, clients, faults, history, verdict; told as events while it goes.

The verdict comes before the servers are gone. Whatever ends a run, what was
recorded by then stays in its folder, and can be judged with `recheck`.
"""

from __future__ import annotations

import queue
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.client_process import ClientTask
from harness.clients import Clients, started
from harness.engines import Cluster, Engine, ServerSpec, Topology
from harness.environment import environment
from harness.errors import ConfigurationError, ServerNotReadyError
from harness.events import Event, FaultObserved, Notice, Progress, RunJudged, RunStarted, StageReached
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.partition import partition
from harness.nemesis.plan import PlanLog, plan
from harness.recheck import judge_folder
from harness.recorder import Recorder
from harness.store import EVENTS, HEADER, RunFolder
from harness.target import FaultSpec, PartitionSpec, Target
from workloads import storages
from workloads.client import NotApplied, Unknown
from workloads.locks import LockSettings
from workloads.storages import StorageSettings

SECOND = 1_000_000_000  # ns
CALL_TIMEOUT = 1.0  # seconds; of every call that a client makes
SETTING_UP = 10.0  # seconds; of every call that the harness makes itself
TICK = 0.1  # seconds between two looks at a run that goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line says beside the target."""

    seed: int | None = None
    faults: bool = True
    runs: Path = Path("runs")
    command: tuple[str, ...] = ()
    notify: Callable[[Event], None] = lambda _event: None  # what cannot wait for the iterator


def run(target: Target, engine: Engine, options: RunOptions) -> Iterator[Event]:
    """Run a target once, and yield what happens; close the iterator to stop early.

    The first Ctrl-C (or SIGTERM) while the clients work ends the work: what was
    recorded is judged, and RunJudged says `interrupted`. Call it from the main
    thread. Raises ConfigurationError and InfrastructureError.
    """
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    faults = target.faults if options.faults else ()
    topology = _topology(target, faults)
    if refusal := engine.refusal(topology):
        raise ConfigurationError(f"{target.name}: {refusal}")
    folder = RunFolder.create(options.runs, target.name)
    yield RunStarted(
        target=target.name,
        engine=engine.name,
        folder=folder.path,
        seed=seed,
        duration=target.workload.duration,
    )
    folder.write_text("target.toml", target.source)
    folder.write_json(HEADER, _header(target, seed), indent=None)
    workload = target.workload
    with ExitStack() as stack:
        clients = stack.enter_context(
            started(workload.clients, workload.resources, len(faults), folder.path)
        )
        yield StageReached(stage="starting", detail=_listing(topology))
        servers = stack.enter_context(ExitStack())
        cluster = servers.enter_context(
            engine.start(
                topology, folder.run_id, folder.path, lambda text: options.notify(Notice(text=text))
            )
        )
        folder.write_json("environment.json", environment(cluster.environment(), options.command))
        storage = _storage(target, cluster)
        _set_up(storage, target)
        clients.get_ready(lambda client: _task(target, cluster, seed, client))
        yield StageReached(stage="running", detail=_work(target))
        with _interrupts() as interrupted:
            yield from _drive(target, faults, seed, folder, cluster, clients, interrupted)
            yield StageReached(stage="judging", detail="what was recorded")
            _keep(folder, cluster, storage)
            stack.callback(_beside(servers.pop_all().close).join)
            document, notices = judge_folder(folder.path)
        yield from (Notice(text=text) for text in notices)
        yield RunJudged(
            folder=folder.path,
            document=document,
            report=folder.path / "report.html",
            interrupted=interrupted.is_set(),
        )
        yield StageReached(stage="stopping", detail=_listing(topology))


def _drive(
    target: Target,
    faults: Sequence[FaultSpec],
    seed: int,
    folder: RunFolder,
    cluster: Cluster,
    clients: Clients,
    interrupted: threading.Event,
) -> Iterator[Event]:
    """Let the clients work, under faults, for as long as the target says."""
    duration, ttl = target.workload.duration, target.lock.ttl
    log = PlanLog(
        seed=seed,
        started=time.monotonic_ns(),
        duration=duration,
        planned=plan(faults, seed, ttl, duration),
        save=lambda document: folder.write_json("plan.json", document),
    )
    log.changed()
    observed: queue.SimpleQueue[FaultObserved] = queue.SimpleQueue()
    recorder = Recorder(folder.path / EVENTS / "nemesis.jsonl")
    nemesis = Nemesis(
        faults=faults,
        log=log,
        ttl=ttl,
        state=clients.state,
        resources=_resources(target),
        processes=clients.handles(),
        cut=lambda client, fault: _cut(cluster, client, fault),
        record=recorder.record,
        tell=observed.put,
    )
    with nemesis:
        clients.state.run.go = 1
        while (elapsed := time.monotonic_ns() - log.started) < duration and not interrupted.is_set():
            nemesis.check()
            clients.check()
            yield from _drained(observed)
            yield _progress(clients, nemesis, elapsed, duration)
            interrupted.wait(min(TICK, (duration - elapsed) / SECOND))
    clients.finish()
    recorder.close()
    nemesis.check()
    yield from _drained(observed)
    yield _progress(clients, nemesis, min(elapsed, duration), duration)


def _drained(observed: queue.SimpleQueue[FaultObserved]) -> Iterator[Event]:
    while not observed.empty():
        yield observed.get()


def _progress(clients: Clients, nemesis: Nemesis, elapsed: int, duration: int) -> Progress:
    state = clients.state
    return Progress(
        elapsed=elapsed,
        duration=duration,
        operations=sum(state.operations),
        writes_accepted=sum(state.writes[0::2]),
        writes_rejected=sum(state.writes[1::2]),
        faults=nemesis.in_force(),
    )


def _cut(cluster: Cluster, client: int, fault: PartitionSpec) -> Any:
    return partition(cluster, client, fault.side, fault.direction)


def _topology(target: Target, faults: Sequence[FaultSpec]) -> Topology:
    lock, storage = target.lock, target.storage
    members = tuple(
        ServerSpec(name=f"{lock.kind}-{number + 1}", system=lock.kind, image=lock.image)
        for number in range(lock.nodes)
    )
    return Topology(
        servers=(*members, ServerSpec(name=storage.kind, system=storage.kind, image=storage.image)),
        clients=target.workload.clients,
        partitions=any(isinstance(fault, PartitionSpec) for fault in faults),
    )


def _listing(topology: Topology) -> str:
    return ", ".join(server.name for server in topology.servers)


def _work(target: Target) -> str:
    workload = target.workload
    return f"{workload.kind}: {workload.clients} clients, {workload.resources} resources"


def _resources(target: Target) -> tuple[str, ...]:
    return tuple(f"r{number}" for number in range(target.workload.resources))


def _header(target: Target, seed: int) -> dict[str, Any]:
    return {
        "fencepost": 1,
        "target": target.name,
        "seed": seed,
        "fenced": target.fenced,
        "policy": target.storage.policy,
        "ttl": target.lock.ttl,
        "initial": {"value": None, "token": 0},
        "expect": list(target.expected),
        "may": list(target.may),
        "require": dict(target.require),
        "clients": target.workload.clients,
    }


def _storage(target: Target, cluster: Cluster) -> StorageSettings:
    """Where the harness itself reaches the storage: past every proxy."""
    (server,) = (each for each in cluster.servers if each.name == target.storage.kind)
    return StorageSettings(
        kind=target.storage.kind,
        host=server.address.host,
        port=server.address.port,
        fencing=target.storage.fencing,
        policy=target.storage.policy,
        timeout=SETTING_UP,
    )


def _set_up(storage: StorageSettings, target: Target) -> None:
    try:
        storages.set_up(storage, list(_resources(target)))
    except (NotApplied, Unknown) as error:
        raise ServerNotReadyError(f"{storage.kind}: its tables could not be made: {error}") from error


def _task(target: Target, cluster: Cluster, seed: int, client: int) -> ClientTask:
    members = [server.name for server in cluster.servers if server.system == target.lock.kind]
    storage = cluster.edge(client, target.storage.kind)
    most = target.most_writes
    think = target.workload.think / SECOND
    return ClientTask(
        seed=seed,
        resources=_resources(target),
        writes=(1, most),
        think=(think / 10, think),
        lock=LockSettings(
            kind=target.lock.kind,
            endpoints=tuple(str(cluster.edge(client, member)) for member in members),
            ttl=target.lock.ttl,
            timeout=CALL_TIMEOUT,
            client=client,
        ),
        storage=StorageSettings(
            kind=target.storage.kind,
            host=storage.host,
            port=storage.port,
            fencing=target.storage.fencing,
            policy=target.storage.policy,
            timeout=CALL_TIMEOUT,
        ),
    )


def _keep(folder: RunFolder, cluster: Cluster, storage: StorageSettings) -> None:
    """Save what only the servers know, before they go."""
    try:
        folder.write_commits(storages.committed(storage))
    except (NotApplied, Unknown) as error:
        raise ServerNotReadyError(
            f"{storage.kind}: the order of its writes could not be read: {error}; "
            f"judge what the clients saw with: fencepost recheck {folder.path}"
        ) from error
    for name, text in cluster.logs().items():
        folder.write_text(f"logs/{name}.log", text)


def _beside(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Note the first SIGINT or SIGTERM instead of being torn out of the work by it."""
    interrupted = threading.Event()

    def note(_number: int, _frame: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()

    previous = {each: signal.signal(each, note) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupted
    finally:
        for each, handler in previous.items():
            signal.signal(each, handler)

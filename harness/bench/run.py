"""Start the servers of a target and the clients of a bench, and remove everything at the end."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from checkers.text.redaction import redacted
from harness.bench import availability, calibration, workers
from harness.bench.bench import SHORTEST, Bench, BenchOptions, Say
from harness.bench.native import NativeTools, images
from harness.bench.orders import ClientOfBench
from harness.bench.series import MOST_CLIENTS, REPETITIONS, compares_fence, written
from harness.bench.tables import few
from harness.core.duration import NS
from harness.core.errors import ConfigurationError, InfrastructureError
from harness.engines.cleanup import DOCKER
from harness.engines.docker_images import provide_before_any_run
from harness.engines.engine import Cluster, Engine
from harness.engines.joined import with_attached
from harness.files import dated_folders, logs
from harness.files.environment import environment
from harness.files.run_files import ENVIRONMENT
from harness.files.run_folder import LOGS, RunFolder
from harness.network.topology import Topology
from harness.run import deployment
from harness.run.removal import removed_at_end
from harness.run.server_logs import logs_kept_on_failure
from harness.run.trial import prove_usable, set_up, set_up_lock
from harness.spec import Target
from harness.spec.attached import running_at


def topology_of(target: Target) -> Topology:
    """Return the servers of a target, without the proxies in front of them that faults need."""
    return replace(deployment.topology(target, ()), clients=0)


def check(target: Target) -> None:
    """Raise ConfigurationError for a target that cannot be measured, as one whose clients are programs."""
    if target.client is not None:
        raise ConfigurationError(
            f"{target.name}: [client] is a program, which bench cannot drive: time it with its own tools, or"
            " remove the section to measure Fencepost's client of the same servers"
        )
    if target.bench.fence_overhead is not None and not target.fenced:
        raise ConfigurationError(
            f'{target.name}: bench.fence_overhead: storage.fencing is "none", which adds nothing: remove it,'
            " or choose a fencing"
        )
    if target.bench.fence_overhead is not None and not compares_fence(target):
        raise ConfigurationError(
            f'{target.name}: bench.fence_overhead: storage.fencing "{target.storage.fencing}" is not compared'
            " with writes without it: remove it, or require a write_rate or a write_p99"
        )
    deployment.check(target)


RUNS = "runs"
"""In a bench's folder: the run of a target with its faults on servers."""


def run_bench(
    target: Target, engine: Engine, options: BenchOptions, say: Say
) -> Generator[Bench, None, None]:
    """Start the servers, and yield the bench once it has measured everything, or was interrupted.

    The servers stop when the iterator resumes. Call it from the main thread. Raises InfrastructureError or
    ConfigurationError; an error or an interrupt during the measurements comes after the yield.
    """
    check(target)
    topology = topology_of(target)
    engine = with_attached(engine, topology)
    if refusal := engine.refusal(topology):
        raise refusal
    refused, remedy = f"{options.benches}: cannot hold a bench", "name another folder with --benches"
    path = dated_folders.create_or_say(options.benches / target.name, LOGS, refused=refused, remedy=remedy)
    folder = RunFolder(path, deployment.passwords(target))
    bench = Bench(
        target=target,
        options=options,
        folder=path,
        engine=engine.name,
        say=say,
        began=datetime.now(UTC).isoformat(timespec="seconds"),
        load=calibration.load(),
    )
    say(f"  {planned(bench)}")
    if availability.faults_on_servers(target):
        try:
            bench.availability.extend(availability.measure(target, engine, path / RUNS, say))
        except InfrastructureError as error:
            bench.note(f"availability was not measured: {error.sentence}")
    with ExitStack() as stack:
        stack.enter_context(logs.limited(path / LOGS))

        def notify(text: str) -> None:
            say(f"  {redacted(text, folder.passwords)}")

        folder.write_text("target.toml", target.source)
        if engine.name == DOCKER and options.max_rate is None:
            provide_before_any_run(images(target), notify)
        stack.enter_context(removed_at_end(deployment.belongings(target, path), notify))
        cluster = stack.enter_context(engine.start(topology, folder.run_id, path, notify))
        stack.enter_context(logs_kept_on_failure(folder, cluster, {}))
        surroundings = environment(
            deployment.environment(cluster), options.command, options.again, own_code=False
        )
        folder.write_json(ENVIRONMENT, surroundings)
        bench.versions = _versions(surroundings)
        prove_usable(target, cluster, path)
        set_up_lock(target, cluster, path)
        storage = replace(deployment.storage_of(target, cluster, path), fencing="none")
        set_up(storage, written(), running_at(deployment.storage_side(target)))
        clients = stack.enter_context(
            workers.started(
                MOST_CLIENTS,
                lambda client: client_of(target, cluster, path, client),
                4 * target.lock.ttl / NS["s"] + 10,
                path,
                deployment.modules(target),
            )
        )
        try:
            bench.measure(clients, NativeTools(target, cluster))
        except (InfrastructureError, KeyboardInterrupt):
            bench.interrupted = True
            yield bench
            raise
        yield bench


def client_of(target: Target, cluster: Cluster, folder: Path, client: int) -> ClientOfBench:
    """Return what a client is: there are no proxies between it and the servers."""
    timeout = target.workload.timeout / NS["s"]
    side = deployment.storage_side(target)
    of_lock, of_storage = (deployment.names_of(each, cluster, folder) for each in (target.lock, side))
    lock = [cluster.direct(name) for name in target.lock.servers]
    storage = [cluster.direct(name) for name in target.storage_servers]
    of = deployment.storage_settings(target, storage, folder, timeout, of_storage)
    return ClientOfBench(
        number=client,
        lock=deployment.lock_settings(target, lock, folder, client, timeout, of_lock),
        storage=replace(of, policy="inclusive"),
    )


def planned(bench: Bench) -> str:
    """Say what is about to be sent, before it is."""
    seconds, most = bench.whole / NS["s"], bench.options.max_rate
    shortest = " (the shortest)" if bench.lasts == SHORTEST else ""
    how_many = f"at most {most * seconds:,.0f} requests, {most:,g} a second" if most else "as fast as it can"
    return (
        f"{bench.loads} loads of {few(bench.lasts / NS['s'])} s{shortest}, each {REPETITIONS} times, about"
        f" {seconds:,.0f} s in all without the starts of servers and tools; {how_many}"
    )


def _versions(surroundings: dict[str, object]) -> dict[str, str]:
    servers = surroundings.get("servers")
    if not isinstance(servers, dict):
        return {}
    return {name: str(about.get("version", "")) for name, about in servers.items()}

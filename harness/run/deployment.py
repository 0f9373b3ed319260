"""Settings of each part of a run, from its target and the running servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from msgspec import structs

from checkers.vocabulary.fault_kinds import KINDS
from checkers.vocabulary.hazards import HazardTable, Point
from harness.clients.admin import AdminClient
from harness.clients.process import ClientTask
from harness.core.duration import NS
from harness.core.errors import ConfigurationError, ServerNotReadyError
from harness.engines import attached
from harness.engines.engine import Cluster
from harness.nemesis.faults import FaultSpec
from harness.nemesis.reach import servers_hit
from harness.network.topology import FOLLOWERS, Address, AttachedSpec, ServerSpec, Topology
from harness.processes.program import ProgramCommand, missing
from harness.report.sentences import count
from harness.run.removal import Belongings
from harness.spec import LockSpec, StorageSpec, Target
from harness.spec.attached import running_at
from harness.spec.executed import check_classes, commands
from harness.spec.fields import HAZARDS, endpoint
from harness.spec.hazards import hazard_table
from harness.spec.passwords import password_of
from workloads import locks, storages
from workloads.client import UNWRITTEN, NotApplied
from workloads.http_connection import HttpConnection
from workloads.line_protocol.program_client import start_fields
from workloads.run import Schedule
from workloads.settings import LockSettings, Login, StorageSettings, host_and_port

CONNECTING = 2.0  # seconds; to a service of the user's
LIBRARIES = {"mariadb": ("pymysql", "PyMySQL", "mariadb"), "nats": ("nats", "nats-py", "nats")}
"""By system, what its clients import and not every installation has: the module, the library, the extra."""
SETTING_UP = 30.0  # seconds; of each call of the harness itself, also on a busy machine


def topology(target: Target, faults: Sequence[FaultSpec]) -> Topology:
    """Return the servers and edges that a target needs."""
    return Topology(
        servers=tuple(
            _server(name, cluster, side)
            for cluster, side in (("lock", target.lock), ("storage", target.storage))
            if not running_at(side)
            for name in side.servers
        ),
        clients=target.workload.clients,
        attached=attached_servers(target),
        partitions=any(fault.engine_need == "partitions" for fault in faults),
        killed=_hit_by("killed", target, faults),
        clocks=_hit_by("clocks", target, faults),
        throttled=_hit_by("throttled", target, faults),
        split=_hit_by("split", target, faults),
    )


def attached_servers(target: Target) -> tuple[AttachedSpec, ...]:
    """Return the servers of a target that already run; ConfigurationError if a password is missing."""
    return tuple(
        AttachedSpec(
            name=name,
            system=side.system,
            address=_attached_at(side, cluster, at),
            key=f"{cluster}.{type(side).model_fields['running'].alias}",
        )
        for cluster, side in (("lock", target.lock), ("storage", target.storage))
        for name, at in zip(side.servers, running_at(side), strict=False)
    )


def _attached_at(side: LockSpec | StorageSpec, cluster: str, at: str) -> Address:
    host, port = host_and_port(at)
    host = host.strip("[]")
    return Address(host, port, side.login(password_of(side, cluster), host))


def _server(name: str, cluster: str, side: LockSpec | StorageSpec) -> ServerSpec:
    follows = side.servers[0] if name in FOLLOWERS else ""
    spec = ServerSpec(name=name, system=side.system, image=side.image, cluster=cluster, follows=follows)
    return side.started(spec)


def _hit_by(
    need: Literal["killed", "clocks", "throttled", "split"], target: Target, faults: Sequence[FaultSpec]
) -> tuple[str, ...]:
    """Return the servers hit by faults with this engine need."""
    hits = (servers_hit(fault.aim(), target.sides) for fault in faults if fault.engine_need == need)
    return tuple(dict.fromkeys(name for names in hits for name in names))


def listing(topology: Topology) -> str:
    """List the servers in one line for the user."""
    return ", ".join(server.name for server in topology.servers) or "proxies"


def work(target: Target) -> str:
    """Describe the workload in one line for the user."""
    workload = target.workload
    if workload.is_of_jobs:
        jobs = count(len(written(target)), "job")
        return f"{workload.kind}: {workload.clients} workers, {count(workload.resources, 'queue')}, {jobs}"
    return f"{workload.kind}: {workload.clients} clients, {count(workload.resources, 'resource')}"


def resources(target: Target) -> tuple[str, ...]:
    """Return the names of the resources that are locked: of the queues, if the clients execute jobs."""
    letter = "q" if target.workload.is_of_jobs else "r"
    return tuple(f"{letter}{number}" for number in range(target.workload.resources))


def schedule(target: Target) -> Schedule:
    """Return when jobs are due."""
    return Schedule(every=target.workload.every, duration=target.workload.duration)


def written(target: Target) -> tuple[str, ...]:
    """Return the names of the resources that are written: of the jobs, if the clients execute them."""
    if not target.workload.is_of_jobs:
        return resources(target)
    return tuple(job for queue in resources(target) for job in schedule(target).jobs(queue))


def places(target: Target) -> tuple[str, ...]:
    """Return all names of resources, those that are locked first."""
    return tuple(dict.fromkeys((*resources(target), *written(target))))


def header(
    target: Target,
    seed: int,
    faults: Sequence[FaultSpec] = (),
    *,
    no_faults: bool = False,
    unreached: AbstractSet[Point] = frozenset(),
) -> dict[str, Any]:
    """Return the history's first line, to judge it by; `unreached` are the points to which no client came."""
    # For the kinds of faults that not every reader of the history knows.
    words = {fault.kind: structs.asdict(fault.words) for fault in target.faults if fault.kind not in KINDS}
    return (
        {
            "fencepost": 1,
            "target": target.name,
            "seed": seed,
            "fenced": target.fenced,
            "policy": target.storage.policy,
            "ttl": target.lock.ttl,
            "initial": {"value": [] if target.workload.kind == "append" else None, "token": UNWRITTEN},
            "fence_on_acquire": target.storage.fence_on_acquire,
            "expect": list(target.expected),
            "may": list(target.may),
            "require": {name: least for name, least in target.require.items() if name != HAZARDS},
            "clients": target.workload.clients,
        }
        | ({"faults": words} if words else {})
        | _hazards(target, faults, unreached)
        | ({"no_faults": True} if no_faults else {})
    )


def _hazards(target: Target, faults: Sequence[FaultSpec], unreached: AbstractSet[Point]) -> dict[str, Any]:
    """Return the dangerous moments that the faults can produce. If some are required, none is not enough."""
    table, required = hazard_table(target, faults, unreached), target.require.get(HAZARDS, 0)
    if table is None:
        return {"hazards": structs.asdict(HazardTable(required=1))} if required else {}
    return {"hazards": structs.asdict(table) | {"required": min(required, len(table.possible) or 1)}}


def modules(target: Target) -> tuple[str, ...]:
    """Return the modules that clients import for this target's systems."""
    kinds = (("lock", locks.LOCKS, target.lock.kind), ("storage", storages.STORAGES, target.storage.kind))
    own = target.program_sides
    return tuple(known[kind] for side, known, kind in kinds if kind in known and side not in own)


def check(target: Target) -> None:
    """Raise ConfigurationError or ServerNotReadyError if the target names something that cannot be used."""
    for wrong in missing_here(target):
        raise ConfigurationError(wrong)
    check_classes(target)
    passwords(target)
    _check_services(target)
    attached.check(attached_servers(target))


def _check_services(target: Target) -> None:
    """Raise ServerNotReadyError if a service that the target names by its address cannot be reached."""
    for side, spec in (("lock", target.lock), ("storage", target.storage)):
        url = getattr(spec, "url", None)
        if not url:
            continue
        try:
            with closing(HttpConnection(endpoint(url), CONNECTING)) as connection:
                connection.connect()
        except NotApplied as error:
            raise ServerNotReadyError(
                f"nothing answers at {side}.url http://{endpoint(url)}: {error}; start the service first"
            ) from error


def missing_here(target: Target) -> Iterator[str]:
    """Yield a sentence about each command of the user's, and each library, that this machine lacks."""
    for key, command in commands(target):
        if wrong := missing(command):
            yield f"{key}: {wrong}"
    for side, spec in (("lock", target.lock), ("storage", target.storage)):
        module, library, extra = LIBRARIES.get(spec.system, ("", "", ""))
        if module and find_spec(module) is None:
            yield f"{side}: {spec.system} needs {library}: pip install '.[{extra}]' in Fencepost's checkout"


def passwords(target: Target) -> tuple[str, ...]:
    """Return the passwords that a target names, to hide them; ConfigurationError if one is missing."""
    sides = (password_of(target.lock, "lock"), password_of(target.storage, "storage"))
    return tuple(password for password in sides if password)


def storage_of(target: Target, cluster: Cluster, folder: Path) -> StorageSettings:
    """Return the harness' own access to the storage: without proxies, or in the run's folder."""
    at = _addresses(cluster, target.storage_servers)
    return storage_settings(target, at, folder, SETTING_UP, names_of(storage_side(target), cluster, folder))


def lock_of(target: Target, cluster: Cluster, folder: Path) -> LockSettings:
    """Return the harness' own access to the lock service, without proxies."""
    at = _addresses(cluster, target.lock.servers)
    return lock_settings(target, at, folder, 0, SETTING_UP, names_of(target.lock, cluster, folder))


def _addresses(cluster: Cluster, names: Iterable[str]) -> list[Address]:
    addresses = {server.name: server.address for server in cluster.servers}
    return [addresses[name] for name in names]


def admin_client(target: Target, cluster: Cluster, folder: Path, command: ProgramCommand) -> AdminClient:
    """Return the harness' own program, which reaches the servers without proxies."""
    lock, storage = lock_of(target, cluster, folder), storage_of(target, cluster, folder)
    fields = start_fields(None, lock, storage, target.program_sides)
    return AdminClient(command=command, start_fields=fields, log=folder / "logs" / "program.log")


def task(
    target: Target, cluster: Cluster, folder: Path, seed: int, client: int, command: ProgramCommand | None
) -> ClientTask:
    """Return the task of one client: its work, its addresses of the servers, and the run's folder."""
    think, timeout = target.workload.think / NS["s"], target.workload.timeout / NS["s"]
    of_lock, of_storage = (names_of(side, cluster, folder) for side in (target.lock, storage_side(target)))

    def edges(names: Iterable[str]) -> Sequence[Address]:
        return [cluster.edge(client, name) for name in names]

    return ClientTask(
        seed=seed,
        resources=resources(target),
        places=places(target),
        workload=target.workload.kind,
        schedule=schedule(target),
        most_writes=target.most_writes,
        think_time=(think / 10, think),
        lock=lock_settings(target, edges(target.lock.servers), folder, client, timeout, of_lock),
        storage=storage_settings(target, edges(target.storage_servers), folder, timeout, of_storage),
        command=command,
        program_sides=target.program_sides,
    )


def belongings(target: Target, folder: Path) -> tuple[Belongings, ...]:
    """Return what a run may leave on each side's servers that already run."""
    of_lock, of_storage = (
        tuple(server for server in attached_servers(target) if server.key.startswith(f"{side}."))
        for side in ("lock", "storage")
    )
    at_lock, at_storage = ([server.address for server in each] for each in (of_lock, of_storage))
    found = []
    if of_lock and target.lock.kind in locks.REMOVABLE:
        lock = lock_settings(target, at_lock, folder, 0, SETTING_UP, folder.name)
        found.append(Belongings(servers=of_lock, settings=lock))
    if storage_side(target) is target.lock:
        of_storage, at_storage = of_lock, at_lock
    if of_storage and target.storage.kind in storages.REMOVABLE:
        storage = storage_settings(target, at_storage, folder, SETTING_UP, folder.name)
        found.append(Belongings(servers=of_storage, settings=storage))
    return tuple(found)


def environment(cluster: Cluster) -> dict[str, Any]:
    """Return what the engine knows of the servers, and whether other runs have had them."""
    reused = {} if cluster.earlier_runs is None else {"earlier_runs_on_these_servers": cluster.earlier_runs}
    return cluster.environment() | reused


def names_of(side: LockSpec | StorageSpec, cluster: Cluster, folder: Path) -> str:
    """Return what a run puts into all names on the servers of a side; "" if they are its own."""
    return folder.name if cluster.earlier_runs is not None or running_at(side) else ""


def storage_side(target: Target) -> LockSpec | StorageSpec:
    """Return the side whose servers have the storage."""
    return target.lock if target.storage.is_in_the_lock else target.storage


def lock_settings(
    target: Target, addresses: Sequence[Address], folder: Path, client: int, timeout: float, names: str
) -> LockSettings:
    """Return how a client uses the lock service at these addresses."""
    return target.lock.settings(
        kind=target.lock.kind,
        endpoints=target.lock.endpoints(map(str, addresses), folder),
        login=_login(addresses, target.lock, "lock"),
        run=folder.name,
        names=names,
        ttl=target.lock.ttl,
        timeout=timeout,
        client=client,
        token=target.lock.token,
    )


def storage_settings(
    target: Target, addresses: Sequence[Address], folder: Path, timeout: float, names: str
) -> StorageSettings:
    """Return how a client uses the storage at these addresses."""
    return target.storage.settings(
        kind=target.storage.kind,
        endpoints=target.storage.endpoints(map(str, addresses), folder),
        login=_login(addresses, target.storage, "storage"),
        run=folder.name,
        names=names,
        fencing=target.storage.fencing,
        policy=target.storage.policy,
        fence_on_acquire=target.storage.fence_on_acquire,
        timeout=timeout,
    )


def _login(addresses: Sequence[Address], side: LockSpec | StorageSpec, name: str) -> Login:
    """Return the login of one side's servers, which all have the same; its own password if it has none."""
    login = next((each.login for each in addresses), Login())
    return login if login.password else replace(login, password=password_of(side, name))

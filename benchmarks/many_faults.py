"""Runs with many faults, clients, resources and open operations."""

from __future__ import annotations

from benchmarks.kinds import LEASE, LEASED, UNFENCED, Kind
from benchmarks.many_on_locks import ON_LOCKS
from benchmarks.many_on_queues import ON_QUEUES
from benchmarks.many_on_storages import ON_STORAGES
from benchmarks.scripted import Script


def _late(run: Script, *, fault: str, target: str, heals: bool, **more: object) -> None:
    """A holder that is hit by a fault until another has the lock and has written; then it writes."""
    late, newer = run.number(), run.number()
    client, other = (0, 1) if "clients" in run.header else (2 * run.number(), 2 * run.number() + 1)
    owner = run.grant(client, late, ttl=LEASE)
    hit = target.format(client=client, number=run.number())
    run.fault(fault, hit, "in force", owner=owner, resource="r", **more)
    run.now += 2 * LEASE
    run.grant(other, newer, ttl=LEASE)
    run.write(other, newer)
    if heals:
        run.fault(fault, hit, "healed")
    run.write(client, late)
    run.now += 2 * LEASE


def _paused(run: Script) -> None:
    _late(run, fault="pause", target="client:{client}", heals=True)


def _paused_for_ever(run: Script) -> None:
    _late(run, fault="pause", target="client:{client}", heals=False)


def _partitioned_for_ever(run: Script) -> None:
    _late(run, fault="partition", target="client:{client}", heals=False)


def _killed(run: Script) -> None:
    _late(run, fault="kill", target="client:{client}", heals=False)


def _server_down(run: Script) -> None:
    _late(run, fault="pause", target="storage:{number}", heals=False)


def _service_down(run: Script) -> None:
    _late(run, fault="pause", target="lock:{number}", heals=False)


def _failed_over(run: Script) -> None:
    client = run.number()
    left = list(range(client % 97, client % 97 + 40))
    _late(run, fault="failover", target="storage", heals=True, left_behind=left)


def _failed_over_once(run: Script, operations: int) -> None:
    """One failover, with as many clients left behind as one line names: a line has at most 1 MiB."""
    clients = list(range(operations))
    run.fault("failover", "storage", "in force", left_behind=clients)


def _failed_over_and_open(run: Script) -> None:
    client = run.number()
    _late(run, fault="failover", target="storage", heals=False, left_behind=[client, client + 1])


def _restarted(run: Script) -> None:
    """A rejection that a restart may explain."""
    refused = run.number()
    run.lost_write(run.number())
    run.refused_write(0, refused)
    run.fault("restart", "storage", "in force")
    run.fault("restart", "storage", "healed")
    run.write(1, refused)


def _restarted_apart(run: Script, operations: int) -> None:
    """Many restarts, and after them many rejections."""
    for _ in range(operations // 2):
        run.fault("restart", "storage", "in force")
        run.fault("restart", "storage", "healed")


def _early_while_down(run: Script) -> None:
    owner = run.grant(0, run.number(), ttl=100 * LEASE)
    run.fault("pause", f"lock:{owner}", "in force")
    run.grant(1, run.number(), ttl=100 * LEASE)


def _early_beside_late_release(run: Script) -> None:
    """Grants that many late releases of others may have let in."""
    owner = run.grant(0, run.number(), ttl=LEASE)
    run.grant(1, run.number(), ttl=100 * LEASE)
    run.do(0, "release", owner=owner)


def _unknown_writes(run: Script) -> None:
    run.lost_write(run.number())


def _unknown_writes_read(run: Script) -> None:
    late, newer = run.number(), run.number()
    value, other = run.lost_write(late), run.lost_write(newer)
    run.read(0, newer, other)
    run.read(0, late, value)


def _open(run: Script, operations: int) -> None:
    """Writes and reads that never end."""
    for _ in range(operations // 4):
        run.call(1_000 + run.number(), "write", token=run.number(), value=f"v{run.number()}")
        run.call(1_000 + run.number(), "read")


def _open_acquires(run: Script, operations: int) -> None:
    for _ in range(operations // 2):
        run.call(1_000 + run.number(), "acquire", owner=f"o{run.number()}", ttl=LEASE)


def _open_acquires_of_many(run: Script) -> None:
    """Acquires that never end, and pauses and kills of their clients."""
    client = run.number()
    run.call(client, "acquire", owner=f"o{run.number()}", ttl=LEASE)
    run.fault("pause", f"client:{client}", "in force")


def _own_resource(run: Script) -> None:
    """A stale write and a false rejection on a resource of its own."""
    resource = f"r{run.number()}"
    run.refused_write(0, 1, resource=resource)
    run.write(0, 3, resource=resource)
    run.write(1, 2, resource=resource)


def _own_lost(run: Script) -> None:
    """A write that its own resource lost."""
    resource = f"r{run.number()}"
    value = run.write(0, 1, resource=resource)
    run.write(0, 2, resource=resource)
    run.read(1, 1, value, resource=resource)
    run.read(1, 1, value, resource=resource)


def _own_foreign(run: Script) -> None:
    resource = f"r{run.number()}"
    run.logged_write(0, 1, resource=resource)
    run.commit(2, f"w{run.number()}", resource=resource)
    run.refused_write(1, 1, resource=resource)


def _own_lock(run: Script) -> None:
    resource = f"r{run.number()}"
    run.grant(0, 2, resource=resource, ttl=100 * LEASE)
    run.grant(1, 1, resource=resource, ttl=100 * LEASE)
    run.grant(2, 2, resource=resource, ttl=100 * LEASE)


def _own_client(run: Script) -> None:
    late = run.number()
    run.write(run.number(), run.number())
    run.write(run.number(), late)


MANY = {
    **ON_STORAGES,
    **ON_LOCKS,
    **ON_QUEUES,
    "pauses": Kind(add=_paused, finds="stale-write", header=LEASED | UNFENCED | {"clients": 5}),
    "pauses, each of its own client": Kind(add=_paused, finds="stale-write", header=LEASED),
    "pauses that never heal": Kind(add=_paused_for_ever, finds="stale-write", header=LEASED),
    "pauses of few clients that never heal": Kind(
        add=_paused_for_ever, finds="stale-write", header=LEASED | {"clients": 5}
    ),
    "partitions that never heal": Kind(add=_partitioned_for_ever, finds="stale-write", header=LEASED),
    "kills": Kind(add=_killed, finds="stale-write", header=LEASED | {"clients": 5}),
    "faults of the storage that never heal": Kind(add=_server_down, finds="stale-write", header=LEASED),
    "faults of the lock that never heal": Kind(add=_service_down, finds="stale-write", header=LEASED),
    "failovers, many clients left behind": Kind(
        add=_failed_over, finds="stale-write", header=LEASED | {"clients": 100}
    ),
    "failovers that never heal": Kind(add=_failed_over_and_open, finds="stale-write", header=LEASED),
    "a failover, all clients left behind": Kind(
        add=_paused, first=_failed_over_once, finds="stale-write", header=LEASED
    ),
    "restarts beside rejections": Kind(add=_restarted),
    "restarts before rejections": Kind(add=lambda run: run.refused_write(0, 1), first=_restarted_apart),
    "faults of the lock beside early grants": Kind(add=_early_while_down, finds="early-grant"),
    "late releases beside early grants": Kind(add=_early_beside_late_release, finds="early-grant"),
    "unknown writes": Kind(add=_unknown_writes),
    "unknown writes that were read": Kind(add=_unknown_writes_read, finds="stale-write"),
    "open operations beside stale writes": Kind(
        add=ON_STORAGES["stale writes"].add, first=_open, finds="stale-write"
    ),
    "open operations beside false rejections": Kind(add=ON_STORAGES["false rejections"].add, first=_open),
    "open acquires beside stuck locks": Kind(
        add=ON_LOCKS["stuck locks"].add, first=_open_acquires, header=LEASED
    ),
    "open acquires beside pauses": Kind(add=_open_acquires_of_many, header=LEASED),
    "many resources": Kind(add=_own_resource, finds="stale-write"),
    "many resources, each lost a write": Kind(add=_own_lost, finds="lost-write"),
    "many resources, each with a foreign commit": Kind(add=_own_foreign, finds="non-linearizable"),
    "many locks": Kind(add=_own_lock, finds="duplicate-token"),
    "many clients": Kind(add=_own_client, finds="stale-write"),
}
"""Runs by what there is much of."""

"""The table of shipped targets in docs/targets/shipped.md, generated from their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from harness.engines.local_systems import never
from harness.nemesis.faults import hits_servers
from harness.run import deployment
from harness.spec import Target, load, shipped
from harness.spec.locks import LOCKS
from harness.spec.storages import STORAGES

HEAD = """\
| lock | storage | fencing | what is special | expects | engine | target |
|---|---|---|---|---|---|---|
"""
OF_MEMBERS = ("partition", "delay")
"""The kinds of faults that hit messages of a client, or those between members."""


def table() -> str:
    """Return the table: one row per target, in the order of locks and storages in `harness.spec`."""
    targets = sorted((load(name) for name in shipped()), key=_place)
    return HEAD + "".join(_row(target) for target in targets)


def _place(target: Target) -> tuple[int, int, str]:
    return _index(target.lock.kind, LOCKS), _index(target.storage.kind, STORAGES), target.name


def _index(kind: str, kinds: Iterable[str]) -> int:
    """Return the index of a kind; a user's class comes last."""
    known = list(kinds)
    return known.index(kind) if kind in known else len(known)


def _row(target: Target) -> str:
    cells = (
        target.lock.kind,
        target.storage.kind,
        target.storage.fencing,
        ", ".join(_special(target)),
        ", ".join(target.expected) or "valid",
        _engines(target),
        f"[`{target.name}`](../../targets/{target.name}.toml)",
    )
    return f"| {' | '.join(cells)} |\n"


def _special(target: Target) -> Iterator[str]:
    """Yield the properties that most targets do not have."""
    if target.workload.kind != "register":
        yield target.workload.kind
    if target.storage.fence_on_acquire:
        yield "fence on acquire"
    elif target.storage.policy != "strict":
        yield target.storage.policy
    yield from _of_servers(target)
    pauses = [fault for fault in target.faults if fault.kind == "pause"]
    if any(fault.every and not hits_servers(fault) for fault in pauses):
        yield "pauses at any moment"
    if any(hits_servers(fault) for fault in pauses):
        yield "pauses of servers"
    yield from dict.fromkeys(
        f"{fault.kind} of members" if fault.kind in OF_MEMBERS and hits_servers(fault) else fault.kind
        for fault in target.faults
        if fault.kind != "pause"
    )
    if target.lock.image or target.storage.image:
        yield "an official image"


def _of_servers(target: Target) -> Iterator[str]:
    """Yield how the servers of a side belong together."""
    if replication := getattr(target.storage, "replication", None):
        yield f"{replication} replication"
    if len(target.storage.servers) > 1 and target.storage.kind == "mariadb":
        yield f"{len(target.storage.servers)} nodes"
    for side in (target.storage, target.lock):
        if manager := getattr(side, "manager", None):
            yield manager.title()


def _engines(target: Target) -> str:
    return "Docker" if never(deployment.topology(target, target.faults)) else "Docker, local"

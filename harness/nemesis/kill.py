"""Kill: servers are killed, or stopped in an orderly way, and later restarted with their data on disk.

A client that is killed stays dead until the end of the run: its lock must go to another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, model_validator

from checkers.vocabulary.fault_kinds import KINDS, FaultKind
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Length
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait, hits_servers
from harness.nemesis.edge_probes import Probes, silenced
from harness.nemesis.fault import GoOn, InForce, InjectedFault, Wait, polls
from harness.nemesis.fields import VictimOrServers
from harness.nemesis.leader import aimed_at, servers_now, unlike_servers
from harness.nemesis.moments import When
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs
from harness.nemesis.stop_points import StopPoint, check_aimed_servers, never_reached
from harness.network import mariadb_server
from harness.network.topology import NetworkEdge, Server
from harness.processes import process_tree

COMING_BACK = 30.0  # s until a node that was away is in the group again; usually 1 to 10
POLL = 0.2  # s
BOOTSTRAPPED = {"mariadb"}
"""Systems whose clusters an operator must start again if all members have left."""


class KillSpec(BaseModel):
    """Servers are killed, or stopped in an orderly way, and later restarted with their data on disk.

    A client is killed with SIGKILL, once per run, and is not restarted.
    """

    model_config = STRICT
    called: ClassVar[str] = "kill"
    words: ClassVar[FaultKind] = KINDS["kill"]
    counts: ClassVar[tuple[str, ...]] = ("kills",)
    traits: ClassVar[Trait] = Trait.KILLS
    neutral: ClassVar[Mapping[str, object]] = {"target": "storage"}
    until: ClassVar[None] = None
    unserved: ClassVar[str] = "nothing of {} can be hit"

    kind: Literal["kill"]
    target: VictimOrServers
    """lock or storage (all its servers), lock:leader (whichever leads then), or some by their names; or a
    client: holder, holder:r0 (the holder of that resource) or client:0."""
    at: StopPoint | None = None
    """The stop point at which a client is killed; without it, at a moment drawn from the seed. Servers are
    killed while a holder is there, which then goes on: once in each interval (every)."""
    orderly: bool = False
    """Stop them with the signal that they expect (SIGTERM, for PostgreSQL SIGINT), not with SIGKILL."""
    every: Length | None = None
    """They are killed once in each interval of this length; without it, once per run."""
    lasts: Length | None = None
    """How long servers stay down."""
    when: When = None

    @model_validator(mode="after")
    def _fits_its_target(self) -> Self:
        if hits_servers(self):
            check_aimed_servers(self)
        elif self.every or self.lasts or self.orderly:
            raise ValueError("a client is killed once and not restarted: give no every, lasts or orderly")
        return self

    @property
    def engine_need(self) -> Literal["killed"] | None:
        """What the engine must be able to do: end servers and restart them."""
        return "killed" if hits_servers(self) else None

    def aim(self) -> tuple[str, ...]:
        """Return the side or server that is killed; none if a client is."""
        return aimed_at(self.target) if hits_servers(self) else ()

    def needs(self, reach: FaultReach, _client: int | None = None) -> Needs:
        """Return the servers, and the edges over which the kill is proved; nothing if a client is hit.

        Of Galera, it returns all nodes: they must be one group when some are killed.
        """
        group = _group(reach.cluster, reach.servers(self.aim()))
        return {*reach.servers_and_edges(self.aim()), *(node.name for node in group)}

    def in_force(self, reach: FaultReach, _wait: Wait) -> InForce:
        """Kill the servers."""
        name, servers = servers_now(reach, self.target)
        return kill(reach.cluster, name, servers, reach.edges(servers), orderly=self.orderly)

    def in_force_on(self, reach: FaultReach, client: int, _go_on: GoOn | None) -> InForce:
        """Kill a client, which may have stopped itself at the stop point."""
        return kill_client(reach, client)

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield a leader among servers that have none, and stop points that are never reached."""
        yield from never_reached(index, self, sections)
        yield from unlike_servers(index, self.target, sections)
        yield from self._never_starts_again(index, sections)

    def _never_starts_again(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield an orderly stop of all nodes of Galera at once: none of them notes that it was the last."""
        storage = sections.storage
        if not (self.orderly and storage and storage.system in BOOTSTRAPPED and len(storage.servers) > 1):
            return
        if "storage" in self.aim() or set(self.aim()) >= set(storage.servers):
            yield SettingConflict(
                ("faults", index, "orderly"),
                "stops all nodes of Galera, and an operator would have to choose the one that starts the "
                "cluster again: remove it (killed nodes find each other again), or name fewer nodes",
            )


@contextmanager
def kill(
    cluster: Cluster,
    target: str,
    servers: Sequence[str],
    edges: Iterable[NetworkEdge],
    *,
    orderly: bool = False,
) -> Iterator[InjectedFault]:
    """Keep servers down until the block ends; `edges` lead to them, and prove it.

    In force means: they were observed ended, and each edge that answered just before is silent.
    Healed means: each server is usable, and answers over every edge. Nodes of Galera are killed once all of
    them form one group: they find each other again only if the notes of all about it are the same.
    Raises FaultNotInstalledError if that is not observed, ServerNotReadyError if a server does not restart.
    """

    def restart() -> str:
        cluster.restart(servers)
        return f"{', '.join(servers)} usable again"

    _prove_one_group(cluster, target, servers)
    probes = Probes.of(cluster, "kill", target, edges)
    with silenced(probes, lambda: cluster.kill(servers, orderly=orderly), restart) as fault:
        yield fault


def _group(cluster: Cluster, servers: Sequence[str]) -> list[Server]:
    """Return all nodes of the Galera cluster that some servers belong to; none of a server alone."""
    clusters = {each.cluster for each in cluster.servers if each.name in servers}
    nodes = [each for each in cluster.servers if each.system in BOOTSTRAPPED and each.cluster in clusters]
    return nodes if len(nodes) > 1 else []


def _prove_one_group(cluster: Cluster, target: str, servers: Sequence[str]) -> None:
    """Wait until the nodes of Galera, if these servers are some, are all in one group."""
    nodes = _group(cluster, servers)
    for _ in polls(COMING_BACK, POLL):
        if all(mariadb_server.group_of(each.address) == len(nodes) for each in nodes):
            return
    seen = f"{', '.join(each.name for each in nodes)} are not in one group after {COMING_BACK:g} s"
    raise FaultNotInstalledError("kill", target, seen)


@contextmanager
def kill_client(reach: FaultReach, client: int) -> Iterator[InjectedFault]:
    """Kill a client with its child processes; it stays dead, also after the block.

    In force means: none of them is left. Raises FaultNotInstalledError if that is not observed.
    """
    process, target = reach.processes[client], f"client:{client}"
    processes = process_tree.members(process)
    reach.ended_by_faults.add(client)
    process_tree.end(process)
    if not process_tree.wait_until_ended(processes):
        raise FaultNotInstalledError("kill", target, f"process {process.pid} is still there")
    yield InjectedFault("kill", target, evidence=f"SIGKILL, and process {process.pid} ended", ends=False)

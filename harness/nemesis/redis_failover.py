"""Failover of Redis: a replica is promoted, and its primary then follows it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis.edge_probes import Probes, held_link, proxies_of
from harness.nemesis.fault import InjectedFault
from harness.network import redis_server
from harness.network.topology import Link, NetworkEdge, Server

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy

SETTLING = 20.0  # s until a server must have its new role; it takes at most 1
POLL = 0.02  # s


@contextmanager
def redis_failover(
    cluster: Cluster, target: str, link: Link, clients: Iterable[int], hold: Callable[[], None] | None
) -> Iterator[InjectedFault]:
    """Promote the replica of a link, and redirect the clients' edges to it permanently.

    With `hold`, the link is held until that returns. In force means: the replica reports the role
    master, and answers over each edge that led to the old primary. Healed means: the old primary
    follows the new one, and has dropped the data that only it had.
    Raises FaultNotInstalledError if that is not observed.
    """
    change = _change(cluster, target, link, clients)
    change.prove_following(change.replica)
    promoted = False
    try:
        held = "its link was up" if hold is None else held_link(change.toxiproxy, link, hold)
        behind = change.cut_primary_off()
        promoted = True
        since = change.promote()
        evidence = (
            f"{held}, it lacked {behind} bytes of what {link.server} had, and {change.prove_promoted()}"
        )
        fault = InjectedFault("failover", target, evidence=evidence, since=since)
        yield fault
    finally:
        if promoted:
            change.turn_link()
        else:
            change.take_back()
    fault.healed = change.prove_joined()


def _change(cluster: Cluster, target: str, link: Link, clients: Iterable[int]) -> _Change:
    servers = {server.name: server for server in cluster.servers}
    return _Change(
        toxiproxy=proxies_of(cluster, "failover", target),
        target=target,
        link=link,
        primary=servers[link.server],
        replica=servers[link.source],
        probes=Probes.of(
            cluster, "failover", target, (NetworkEdge(client, link.server) for client in clients)
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A replica, the primary that it replaces, and the edges to the primary."""

    toxiproxy: Toxiproxy
    target: str
    link: Link
    primary: Server
    replica: Server
    probes: Probes

    def cut_primary_off(self) -> int:
        """Close every edge; return how many bytes of replication the replica will never get."""
        for edge in self.probes.edges:
            self.toxiproxy.close(edge)
        return redis_server.role(self.primary.address).offset - redis_server.role(self.replica.address).offset

    def promote(self) -> int:
        """Promote the replica, and redirect the edges to it; return when that was observed (ns)."""
        redis_server.follow(self.replica.address, None)
        self._settle("failover", self.replica, lambda role: role.role == "master")
        seen = time.monotonic_ns()
        for edge in self.probes.edges:
            self.toxiproxy.redirect(edge, self.replica.upstream)
        return seen

    def prove_promoted(self) -> str:
        """Check that the replica answers over each edge, and return the evidence."""
        self.probes.prove_whole_again()
        expected = redis_server.run_id(self.replica.address)
        for edge, (address, _) in self.probes.edges.items():
            if (found := redis_server.run_id(address)) != expected:
                raise FaultNotInstalledError("failover", self.target, f"{edge} leads to process {found}")
        return f"{self.replica.name} reports role master and answers over every edge (run_id {expected})"

    def turn_link(self) -> None:
        """Make the old primary follow the new one, over the same link."""
        self.toxiproxy.replace(self.link, self.replica.upstream)
        redis_server.follow(self.primary.address, self.replica.follows)

    def take_back(self) -> None:
        """Undo everything if the replica was not promoted."""
        self.toxiproxy.heal(self.link)
        for edge in self.probes.edges:
            self.toxiproxy.redirect(edge, self.primary.upstream)

    def prove_following(self, server: Server, what: str = "failover") -> str:
        """Wait until a server is a replica that has caught up, and return the evidence."""
        self._settle(what, server, lambda role: (role.role, role.link) == ("slave", "up"))
        return f"{server.name} reports role slave, and its link is up"

    def prove_joined(self) -> str:
        """Wait until the old primary has caught up with the new one."""
        return self.prove_following(self.primary, "end of the failover")

    def _settle(self, what: str, server: Server, is_done: Callable[[redis_server.RedisRole], bool]) -> None:
        deadline = time.monotonic() + SETTLING
        while not is_done(role := redis_server.role(server.address)):
            if time.monotonic() > deadline:
                raise FaultNotInstalledError(what, self.target, f"{server.name} is {role}")
            time.sleep(POLL)

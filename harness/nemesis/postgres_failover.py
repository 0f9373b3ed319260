"""Failover of PostgreSQL: a standby is promoted while its primary is killed, paused or cut off.

Killing the primary first is what STONITH does. A primary that is only paused or cut off does not
know that it has been replaced: it still accepts writes from the clients that still reach it,
on a timeline of its own. At the end it is killed, copies the new primary's data, and follows it;
what only its own timeline had is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from checkers.text.printable import shorten
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis.edge_probes import Probes, held_link, proxies_of
from harness.nemesis.fault import InjectedFault, polls
from harness.network import postgres_server
from harness.network.topology import Link, NetworkEdge, Server

if TYPE_CHECKING:
    from harness.network.toxiproxy import Toxiproxy

OldPrimary = Literal["killed", "paused", "cut-off"]
SETTLING = 20.0  # s until a server must have its new role; it takes at most 1
POLL = 0.02  # s
SHOWN = 5  # lost writes in the evidence
LONGEST = 20  # characters of each; in the workload append, each is a list


@contextmanager
def postgres_failover(
    cluster: Cluster,
    target: str,
    link: Link,
    clients: tuple[Iterable[int], Iterable[int]],
    old_primary: OldPrimary,
    hold: Callable[[], None] | None,
) -> Iterator[InjectedFault]:
    """Promote the standby of a link, and redirect the edges of the first clients to it permanently.

    The edges of the others lead to the old primary until the block ends. With `hold`, the link is
    held until that returns. In force means: the standby reports that it is a primary on a new
    timeline, and answers over each redirected edge; a primary that was not killed is one, too, and
    answers over the others. Healed means: the old primary follows the new one, which answers over
    every edge. Raises FaultNotInstalledError or InfrastructureError if that is not observed.
    """
    change = change_of(cluster, target, link, clients)
    change.prove_following(change.standby)
    promoted = False
    try:
        held = "" if hold is None else f"{held_link(change.toxiproxy, link, hold)}, and "
        behind = f"{held}{change.only_on_old()} had not arrived"
        stopped = change.stop_primary(old_primary)
        promoted = True
        since = change.promote()
        if old_primary == "paused":
            stopped += f", then {cluster.resume([link.server])}"
        steps = [behind, stopped, change.prove_promoted()]
        evidence = "; ".join(steps if old_primary == "killed" else reversed(steps))
        fault = InjectedFault(
            "failover", target, evidence=evidence, since=since, left_behind=change.clients_left
        )
        yield fault
        lost = "" if old_primary == "killed" else f"only the old primary had {change.only_on_old()}; "
    finally:
        if promoted:
            change.rejoin(old_primary)
        else:
            change.take_back(old_primary)
    fault.healed = f"{lost}{change.prove_joined()}"


def change_of(
    cluster: Cluster, target: str, link: Link, clients: tuple[Iterable[int], Iterable[int]]
) -> Change:
    """Return a change of the primary of a link; FaultNotInstalledError without proxies.

    The edges of the first clients are redirected during it, those of the others at its end.
    """
    toxiproxy = proxies_of(cluster, "failover", target)
    moved, left = (
        Probes.of(cluster, "failover", target, [NetworkEdge(client, link.server) for client in group])
        for group in clients
    )
    return Change(cluster=cluster, toxiproxy=toxiproxy, target=target, link=link, moved=moved, left=left)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A standby, the primary that it replaces, and the edges to the primary."""

    cluster: Cluster
    toxiproxy: Toxiproxy
    target: str
    link: Link
    moved: Probes
    left: Probes  # the edges that are redirected only at the end

    @property
    def primary(self) -> Server:
        """The old primary, at its present address."""
        return self._server(self.link.server)

    @property
    def standby(self) -> Server:
        """The server that is promoted."""
        return self._server(self.link.source)

    def _server(self, name: str) -> Server:
        return next(server for server in self.cluster.servers if server.name == name)

    def only_on_old(self) -> str:
        """Count the accepted writes that only the old primary has, and list the first."""
        kept = set(postgres_server.writes(self.standby.address))
        lost = [value for value in postgres_server.writes(self.primary.address) if value not in kept]
        shown = [shorten(value, LONGEST) for value in lost[:SHOWN]]
        if len(lost) > SHOWN:
            shown.append("…")
        count = "1 accepted write" if len(lost) == 1 else f"{len(lost)} accepted writes"
        return f"{count} ({', '.join(shown)})" if shown else count

    def stop_primary(self, old_primary: OldPrimary) -> str:
        """Close its link and the edges to be moved, and kill or pause the primary; return the evidence.

        Closed first: a proxy that is connecting to a killed server cannot be changed for seconds.
        """
        name = self.link.server
        self.close(self.moved)
        self.toxiproxy.close(self.link)
        if old_primary == "killed":
            return self.cluster.kill([name])
        if old_primary == "paused":
            return self.cluster.pause([name])
        self.settle("failover", self.standby, lambda role: not role.streaming)
        return f"Toxiproxy has closed the link to {name}, and {len(self.moved.edges)} edges"

    def promote(self) -> int:
        """Promote the standby, and redirect edges to it; return when that was observed (ns)."""
        postgres_server.promote(self.standby.address)
        self.settle("failover", self.standby, lambda role: not role.in_recovery)
        return self.redirect_moved()

    def redirect_moved(self) -> int:
        """Redirect the edges to be moved to the standby, which leads; return when that was known (ns)."""
        seen = time.monotonic_ns()
        self.redirect(self.moved, self.standby)
        return seen

    @property
    def clients_left(self) -> tuple[int, ...]:
        """The clients that still reach the old primary."""
        return tuple(edge.client for edge in self.left.edges if isinstance(edge, NetworkEdge))

    def prove_promoted(self) -> str:
        """Check which primary answers over each edge, and return the evidence."""
        new = f"{self.link.source} is {self._prove_leads(self.moved, self.standby)}"
        if not self.left.edges:
            return f"{new}, and answers over every edge"
        old = f"{self.link.server} is {self._prove_leads(self.left, self.primary)}"
        return f"two primaries: {new}; {old}, and answers clients {', '.join(map(str, self.clients_left))}"

    def _prove_leads(self, probes: Probes, server: Server) -> postgres_server.PostgresRole:
        """Check that a primary answers over these edges, and return its role."""
        probes.prove_whole_again()
        expected = postgres_server.role(server.address)
        found = {str(edge): postgres_server.role(at) for edge, (at, _) in probes.edges.items()}
        for edge, role in {server.name: expected, **found}.items():
            if role.in_recovery or role.timeline != expected.timeline:
                raise FaultNotInstalledError("failover", self.target, f"{edge} leads to {role}")
        return expected

    def rejoin(self, old_primary: OldPrimary) -> None:
        """Kill the old primary if it runs, lead everything to the new one, and let it follow that."""
        name = self.link.server
        self.close(self.left)
        if old_primary == "paused":
            self.cluster.resume([name])
        if old_primary != "killed":
            self.cluster.kill([name])
        self.redirect(self.left, self.standby)
        self.toxiproxy.replace(self.link, self.standby.upstream)
        self.cluster.restart([name])

    def take_back(self, old_primary: OldPrimary) -> None:
        """Undo everything if the standby was not promoted."""
        name = self.link.server
        if old_primary == "paused":
            self.cluster.resume([name])
        if old_primary == "killed":
            self.cluster.restart([name])
        self.toxiproxy.replace(self.link, self.primary.upstream)
        self.redirect(self.moved, self.primary)

    def close(self, probes: Probes) -> None:
        """Close every connection over edges, and accept none."""
        for edge in probes.edges:
            self.toxiproxy.close(edge)

    def redirect(self, probes: Probes, server: Server) -> None:
        """Lead edges to a server."""
        for edge in probes.edges:
            self.toxiproxy.redirect(edge, server.upstream)

    def prove_following(self, server: Server, what: str = "failover") -> str:
        """Wait until a server is a standby that receives from its primary, and return the evidence."""
        role = self.settle(what, server, lambda role: role.in_recovery and role.streaming)
        return f"{server.name} is a standby on timeline {role.timeline}, connected to its primary"

    def prove_joined(self) -> str:
        """Wait until the old primary follows the new one, which answers over every edge."""
        for probes in (self.moved, self.left):
            self._prove_leads(probes, self.standby)
        return self.prove_following(self.primary, "end of the failover")

    def settle(
        self, what: str, server: Server, is_done: Callable[[postgres_server.PostgresRole], bool]
    ) -> postgres_server.PostgresRole:
        """Wait until a server has the right role, and return that; FaultNotInstalledError if it never has."""
        for _ in polls(SETTLING, POLL):
            if is_done(role := postgres_server.role(server.address)):
                return role
        raise FaultNotInstalledError(what, self.target, f"{server.name} is {role}")

"""Failover by Patroni: it promotes the standby once the primary is silent for the TTL of its key.

The fault only kills or pauses the primary. The route of the clients follows the server that answers
200 to `/primary`, as behind a load balancer. When the old primary is started or continued, Patroni
demotes it, rewinds it to the new timeline, and lets it follow; what only its own timeline had is lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from harness.core.duration import NS, Span, format_duration
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, ns
from harness.nemesis.edge_probes import held_link
from harness.nemesis.fault import InjectedFault, polls
from harness.nemesis.postgres_failover import Change, OldPrimary, change_of
from harness.network import patroni_server
from harness.network.topology import Address, Link, Server

PATRONI = "patroni"
TAKEOVER = 22 * NS["s"]  # from the end of the primary to a new one: the shortest TTL, and two rounds
SETTLING = 90.0  # s until Patroni must have acted; a takeover takes 20, and a rewind 5 to 15
POLL = 0.1  # s


class Failover(Protocol):
    """The keys of the fault that concern the old primary."""

    old_primary: OldPrimary
    held: Span | None
    lasts: Span | None
    left_behind: int | None


def is_managed(sections: OtherSections) -> bool:
    """Does Patroni run the storage?"""
    return getattr(sections.storage, "manager", None) == PATRONI


def contradictions(index: int, fault: Failover, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield what Patroni decides itself, and a run that ends before it has."""
    manager = f'storage.manager "{PATRONI}"'
    if fault.old_primary == "cut-off":
        yield SettingConflict(
            ("faults", index, "old_primary"),
            f"is not possible with {manager}: a primary that goes on keeps its key in etcd, so that no "
            'standby is promoted; give "killed" or "paused"',
        )
    for key in ("lasts", "left_behind"):
        if getattr(fault, key) is not None:
            yield SettingConflict(
                ("faults", index, key),
                f"cannot be combined with {manager}, which demotes the old primary itself: remove it",
            )
    least = -(-(TAKEOVER + (ns(fault.held, sections.lock) or 0)) * 5 // 3)  # it begins in the second fifth
    if sections.workload and sections.workload.duration < least:
        yield SettingConflict(
            ("workload", "duration"),
            f"is too short for a failover with {manager}, which takes {format_duration(TAKEOVER)} and what "
            f"held says, and begins within the first two fifths: it must be at least {-(-least // NS['s'])}s",
        )


@contextmanager
def patroni_failover(
    cluster: Cluster,
    target: str,
    link: Link,
    clients: Iterable[int],
    old_primary: OldPrimary,
    hold: Callable[[], None] | None,
) -> Iterator[InjectedFault]:
    """Kill or pause the primary of a link until Patroni has promoted its standby, and redirect the edges.

    With `hold`, the link is held until that returns. In force means: Patroni shows the standby as the
    leader on a new timeline, and it answers over every edge. Healed means: Patroni shows the old primary
    as following it on that timeline, and PostgreSQL confirms it. Raises FaultNotInstalledError or
    InfrastructureError if that is not observed.
    """
    takeover = _Takeover(change_of(cluster, target, link, (clients, ())))
    change = takeover.change
    takeover.prove_settled(change.primary, "failover")
    old_timeline = takeover.timeline(change.primary)
    try:
        held = "" if hold is None else f"{held_link(change.toxiproxy, link, hold)}, and "
        behind = f"{held}{change.only_on_old()} had not arrived"
        stopped = takeover.stop(old_primary)
        waited = takeover.wait_for(change.standby)
        since = change.redirect_moved()
        leads = f"Patroni promoted {link.source} {waited:.1f} s later (timeline {old_timeline} before)"
        evidence = f"{behind}; {stopped}; {leads}; {change.prove_promoted()}"
        fault = InjectedFault("failover", target, evidence=evidence, since=since)
        yield fault
    finally:
        takeover.rejoin(old_primary)
    fault.healed = takeover.prove_settled(change.standby, "end of the failover")


@dataclass(frozen=True, slots=True)
class _Takeover:
    """What Patroni does with both servers, as it shows itself."""

    change: Change

    def stop(self, old_primary: OldPrimary) -> str:
        """Pause or kill the primary, and close the ways to it; return the evidence.

        It is paused first in any case: a primary that runs and sees its synchronous standby leave
        makes Patroni turn synchronous replication off. A kill lets it run for a few milliseconds before.
        """
        change, name = self.change, self.change.link.server
        stopped = change.cluster.pause([name])
        change.close(change.moved)
        change.toxiproxy.close(change.link)
        return change.cluster.kill([name]) if old_primary == "killed" else stopped

    def wait_for(self, server: Server) -> float:
        """Wait until a server leads, and return how long that took (s).

        Patroni says that it leads as soon as it has the key, so PostgreSQL may still be in recovery.
        """
        started = time.monotonic()
        for _ in polls(SETTLING, POLL):
            if patroni_server.leads(_rest(server)):
                self.change.settle("failover", server, lambda role: not role.in_recovery)
                return time.monotonic() - started
        seen = f"{server.name} does not lead {SETTLING:g} s later; {self._shown(server)}"
        raise FaultNotInstalledError("failover", self.change.target, seen)

    def rejoin(self, old_primary: OldPrimary) -> None:
        """Start or continue the old primary, open the ways, and lead clients to the server that leads."""
        change, name = self.change, self.change.link.server
        change.cluster.resume([name]) if old_primary == "paused" else change.cluster.restart([name])
        change.toxiproxy.replace(change.link, change.primary.upstream)
        change.redirect(change.moved, self._leader())

    def _leader(self) -> Server:
        for _ in polls(SETTLING, POLL):
            for server in (self.change.standby, self.change.primary):
                if patroni_server.leads(_rest(server)):
                    return server
        raise FaultNotInstalledError(
            "end of the failover", self.change.target, self._shown(self.change.standby)
        )

    def prove_settled(self, leader: Server, what: str) -> str:
        """Wait until a server leads and the other follows it; return what Patroni shows of both."""
        change = self.change
        other = change.primary if leader.name == change.standby.name else change.standby
        waited_for = "sync_standby" if change.primary.synchronous else "replica"
        for _ in polls(SETTLING, POLL):
            shown = {each.name: each for each in patroni_server.members(_rest(leader))}
            seen = [shown[each.name] for each in (leader, other) if each.name in shown]  # or not yet back
            roles = [(each.role, each.state) for each in seen]
            timelines = {each.timeline for each in shown.values()}
            if roles == [("leader", "running"), (waited_for, "streaming")] and len(timelines) == 1:
                change.prove_following(other, what)
                return f"Patroni shows: {'; '.join(map(str, shown.values()))}"
        raise FaultNotInstalledError(what, change.target, self._shown(leader))

    def timeline(self, server: Server) -> int | None:
        """Return the timeline of a server."""
        return next(
            each.timeline for each in patroni_server.members(_rest(server)) if each.name == server.name
        )

    def _shown(self, server: Server) -> str:
        return "Patroni shows: " + "; ".join(map(str, patroni_server.members(_rest(server))))


def _rest(server: Server) -> Address:
    assert server.patroni is not None, f"{server.name} was started with Patroni"  # noqa: S101
    return server.patroni

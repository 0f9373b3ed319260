"""Failover by Sentinel: it promotes a replica once most sentinels had no answer of the primary for long.

The fault only kills or pauses the primary, or cuts it off: from the other servers, from the sentinels, and
from most clients. The clients that stay on its side reach no other server. Clients find the new primary
through the sentinels. Once the old one can be reached again, Sentinel lets it follow the new one, some ten
seconds later; what only the old one had is lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from harness.core.duration import NS, format_duration
from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, ns
from harness.nemesis.edge_probes import Probes, ms, proxies_of
from harness.nemesis.fault import InjectedFault, polls
from harness.nemesis.patroni_failover import Failover
from harness.nemesis.postgres_failover import OldPrimary
from harness.network import redis_server, sentinel_server
from harness.network.sentinel_server import Watched
from harness.network.topology import SENTINEL, SERVERS, Link, NetworkEdge, Server

TAKEOVER = 10 * NS["s"]  # until all sentinels know a new primary: five until the old one is down, an election
SETTLING = 90.0  # s until Sentinel must have acted: a tied vote took 27, and an old primary followed after 17
POLL = 0.1  # s


def is_managed(sections: OtherSections) -> bool:
    """Does Sentinel manage the lock's servers?"""
    return getattr(sections.lock, "manager", None) == SENTINEL


def contradictions(index: int, fault: Failover, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield what Sentinel decides itself, and a run that ends before it has."""
    manager = f'lock.manager "{SENTINEL}"'
    if fault.held:
        instead = "" if fault.old_primary == "cut-off" else '; for lost grants, give old_primary = "cut-off"'
        yield SettingConflict(
            ("faults", index, "held"),
            f"cannot be combined with {manager}: sentinels reach the primary over the same link, and would "
            f"promote a replica: remove the key{instead}",
        )
    for key in ("lasts", "left_behind"):
        if getattr(fault, key) is not None and fault.old_primary != "cut-off":
            yield SettingConflict(
                ("faults", index, key),
                f'is only for old_primary "cut-off" with {manager}, which demotes a paused primary itself: '
                "remove it",
            )
    if fault.old_primary == "cut-off" and not fault.lasts:
        yield SettingConflict(
            ("faults", index, "old_primary"),
            '"cut-off" leaves two primaries: say in lasts how long there are two',
        )
    least = -(-(TAKEOVER + (ns(fault.lasts, sections.lock) or 0)) * 5 // 3)  # it begins in the second fifth
    if sections.workload and sections.workload.duration < least:
        yield SettingConflict(
            ("workload", "duration"),
            f"is too short for a failover with {manager}, which takes {format_duration(TAKEOVER)}"
            f"{' plus lasts' if fault.lasts else ''}, and begins within the first two fifths: it must be at "
            f"least {-(-least // NS['s'])}s",
        )


@contextmanager
def sentinel_failover(
    cluster: Cluster, target: str, clients: Sequence[int], old_primary: OldPrimary, left_behind: int = 1
) -> Iterator[InjectedFault]:
    """Kill, pause or cut off the primary until Sentinel has promoted a replica, and until the block ends.

    A primary that is cut off keeps the last clients, and loses the others. In force means: every sentinel
    names the same new primary, which reports the role master and answers the clients; one that is cut off
    reports it too, and answers the last clients. Healed means: every sentinel names one primary, which all
    others follow. Raises FaultNotInstalledError or InfrastructureError if that is not observed.
    """
    left = clients[-left_behind:] if old_primary == "cut-off" else ()
    takeover = _Takeover(cluster, target, clients[: len(clients) - len(left)], left)
    before = takeover.prove_settled("failover")
    cut = takeover.probes(before.primary) if old_primary == "cut-off" else None
    answered = cut.prove_whole() if cut else 0.0
    try:
        stopped = takeover.stop(before.primary, old_primary, cut)
        since = time.monotonic_ns()  # what it grants from here on is lost
        waited, now = takeover.wait_for_another(before.primary)
        seen = [takeover.prove_leads(now.primary, takeover.moved)]
        if cut:
            silence = cut.prove_silent(answered)
            stopped += f"; answers took {ms(answered)} before, none came in {ms(silence)} since"
            seen.append(takeover.prove_leads(before.primary, takeover.left))
        evidence = (
            f"{stopped}; {waited:.1f} s later, every sentinel names {now.primary} "
            f"(epoch {before.epoch} before, {now.epoch} now); {'; '.join(seen)}"
        )
        fault = InjectedFault("failover", target, evidence=evidence, since=since, left_behind=tuple(left))
        yield fault
    finally:
        takeover.go_on(before.primary, old_primary, cut)
    after = takeover.prove_settled("end of the failover")
    fault.healed = f"every sentinel names {after}, and the others report role slave, and their links are up"


@dataclass(frozen=True, slots=True)
class _Takeover:
    """What Sentinel does with its servers, as it and they show it themselves."""

    cluster: Cluster
    target: str
    moved: Sequence[int]  # clients
    left: Sequence[int]  # the clients of a primary that is cut off

    @property
    def _sentinels(self) -> tuple[Server, ...]:
        return tuple(each for each in self.cluster.servers if each.system == SENTINEL)

    @property
    def servers(self) -> dict[str, Server]:
        """The servers of Redis that they watch, at their present addresses, by name."""
        cluster = self._sentinels[0].cluster
        managed = (each for each in self.cluster.servers if each.cluster == cluster)
        return {each.name: each for each in managed if each.system != SENTINEL}

    def probes(self, primary: str) -> Probes:
        """Return the edges to cut: of most clients to the primary, and of the others to all other servers."""
        others = {*self.servers, *(each.name for each in self._sentinels)} - {primary}
        edges = [NetworkEdge(client, primary) for client in self.moved]
        edges += [NetworkEdge(client, name) for client in self.left for name in others]
        return Probes.of(self.cluster, "failover", self.target, edges)

    def stop(self, primary: str, old_primary: OldPrimary, cut: Probes | None) -> str:
        """Kill or pause the primary, or cut it off; return the evidence."""
        if cut is None:
            return (self.cluster.kill if old_primary == "killed" else self.cluster.pause)([primary])
        toxiproxy = proxies_of(self.cluster, "failover", self.target)
        shown = {str(toxiproxy.cut(way, "both")) for way in (*cut.ways, Link(SERVERS, primary))}
        return (
            f"cut off {primary} and {_listed(self.left)} from the other servers and {_listed(self.moved)}: "
            f"Toxiproxy shows {', '.join(shown)}"
        )

    def go_on(self, primary: str, old_primary: OldPrimary, cut: Probes | None) -> None:
        """Start or continue the old primary, or open all ways to it."""
        if cut is not None:
            proxies_of(self.cluster, "failover", self.target).heal(Link(SERVERS, primary))
            cut.heal(proxies_of(self.cluster, "failover", self.target))
            cut.prove_whole_again()
        elif old_primary == "killed":
            self.cluster.restart([primary])
        else:
            self.cluster.resume([primary])

    def wait_for_another(self, primary: str) -> tuple[float, Watched]:
        """Wait until every sentinel names the same other primary, and that leads; return how long (s)."""
        started = time.monotonic()
        for _ in polls(SETTLING, POLL):
            with suppress(OSError):  # a server that changes its role hangs up
                now = self._agreed()
                if now and now.primary != primary and self._role(now.primary) == "master":
                    return time.monotonic() - started, now
        raise FaultNotInstalledError("failover", self.target, self._shown())

    def prove_leads(self, name: str, clients: Sequence[int]) -> str:
        """Check that a server is a primary, and answers these clients."""
        edges = [NetworkEdge(client, name) for client in clients]
        expected = redis_server.run_id(self.servers[name].address)
        for edge in edges:
            if (found := redis_server.run_id(self.cluster.edge(edge.client, name))) != expected:
                raise FaultNotInstalledError("failover", self.target, f"{edge} leads to process {found}")
        if (role := self._role(name)) != "master":
            raise FaultNotInstalledError("failover", self.target, f"{name} reports role {role}")
        return f"{name} reports role master, and answers {_listed(clients)}"

    def prove_settled(self, what: str) -> Watched:
        """Wait until every sentinel names the same primary, and all other servers follow one."""
        for _ in polls(SETTLING, POLL):
            with suppress(OSError):
                now = self._agreed()
                if now and now.is_complete and self._follow(now.primary):
                    return now
        raise FaultNotInstalledError(what, self.target, self._shown())

    def _agreed(self) -> Watched | None:
        """Return what the sentinels say if all name the same primary of the same epoch."""
        seen = [sentinel_server.watched(each.address) for each in self._sentinels]
        return seen[0] if len({(each.primary, each.epoch) for each in seen}) == 1 else None

    def _follow(self, primary: str) -> bool:
        roles = {name: redis_server.role(each.address) for name, each in self.servers.items()}
        led = roles.pop(primary).role == "master"
        return led and all((each.role, each.link) == ("slave", "up") for each in roles.values())

    def _role(self, name: str) -> str:
        return redis_server.role(self.servers[name].address).role

    def _shown(self) -> str:
        return "; ".join(f"{each.name} {_named(each)}" for each in self._sentinels)


def _named(sentinel: Server) -> str:
    try:
        return f"names {sentinel_server.watched(sentinel.address)}"
    except OSError as error:
        return f"does not answer ({error})"


def _listed(clients: Sequence[int]) -> str:
    return f"{'client' if len(clients) == 1 else 'clients'} {', '.join(map(str, clients))}"

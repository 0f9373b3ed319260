"""The leader of a side, such as `lock:leader`: whichever member leads when a fault begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.core.errors import FaultNotInstalledError
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, sides
from harness.nemesis.fault import polls
from harness.nemesis.fields import names_in
from harness.nemesis.reach import FaultReach
from harness.network.systems import SYSTEMS

LEADER = ":leader"
ELECTION = 10.0  # s until a member must lead; usually 2
POLL = 0.05  # s


def side_of(target: str) -> str:
    """Return the side or server that a target names, without ":leader"."""
    return target.removesuffix(LEADER)


def aimed_at(target: str) -> tuple[str, ...]:
    """Return the sides or servers that a target names, without ":leader"."""
    return names_in(side_of(target))


def servers_now(reach: FaultReach, target: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a target in the history, and its servers: of a leader, whichever leads now."""
    servers = reach.servers(aimed_at(target))
    if not target.endswith(LEADER):
        return reach.recorded(target), servers
    leader = leader_of(reach.cluster, servers)
    return reach.recorded(leader), (leader,)


def leader_of(cluster: Cluster, servers: Sequence[str]) -> str:
    """Return the server that leads by its own account; FaultNotInstalledError if an election elects none."""
    members = [server for server in cluster.servers if server.name in servers]
    for _ in polls(ELECTION, POLL):
        for server in members:
            leads = SYSTEMS[server.system].leads
            if leads is not None and leads(server.address):
                return server.name
    raise FaultNotInstalledError("fault on the leader", ", ".join(servers), "none of them says that it leads")


def unlike_servers(index: int, target: str, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield a leader among servers that have none, and servers of both sides in one target."""
    yield from never_leads(index, target, sections)
    named = set(names_in(target))
    known = [set(side.servers) for side in sides(sections).values() if side]
    if len(named) > 1 and named <= set().union(*known) and not any(named <= names for names in known):
        yield SettingConflict(
            ("faults", index, "target"),
            "names servers of the lock service and of the storage: give two faults",
        )


def never_leads(index: int, target: str, sections: OtherSections) -> Iterator[SettingConflict]:
    """Yield a leader among servers that have none."""
    side = sides(sections).get(side_of(target)) if target.endswith(LEADER) else None
    is_managed = getattr(side, "manager", None) is not None  # then no fault on servers is possible but one
    if side is not None and side.servers and SYSTEMS[side.system].leads is None and not is_managed:
        instead = f'give one by its name, such as "{side.servers[0]}"'
        yield SettingConflict(("faults", index, "target"), f"{side.system} has no leader: {instead}")

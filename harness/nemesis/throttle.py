"""Throttle: a client or servers get only a share of the CPU, as with a noisy neighbour.

In a container, the kernel enforces a quota of CPU time. A client, or a server of the local engine, is
stopped and continued ten times a second instead: it has its share of the time, whatever it does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, ClassVar, Literal, Self

import psutil
from pydantic import BaseModel, Field, model_validator

from checkers.vocabulary.fault_kinds import FaultKind
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Length
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait, hits_servers
from harness.nemesis.edge_probes import ANSWER_TIMEOUT, Probes, ms
from harness.nemesis.fault import GoOn, InForce, InjectedFault, Wait
from harness.nemesis.fields import VictimOrServers
from harness.nemesis.leader import aimed_at, servers_now, unlike_servers
from harness.nemesis.moments import When
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs
from harness.nemesis.stop_points import StopPoint, check_aimed_servers, never_reached
from harness.network.probe import replies
from harness.network.topology import NetworkEdge
from harness.processes import process_tree
from harness.processes.duty_cycle import Throttled, Throttling, duty_cycle

ENOUGH = 3  # times that each is held up before the fault counts as in force
SETTLING = 30.0  # s until then; usually 0.3, but a busy machine gives a server little CPU to take away
POLL = 0.01  # s
SPELL = 0.25  # s; of work for a server, more than two of the kernel's periods


class ThrottleSpec(BaseModel):
    """A client or servers get only a share of the CPU for a while, as with a noisy neighbour."""

    model_config = STRICT
    called: ClassVar[str] = "throttle"
    words: ClassVar[FaultKind] = FaultKind(
        lasting="was short of CPU",
        now="is short of CPU",
        afterwards="has its CPU again",
        short="short of CPU",
        count="throttles",
    )
    counts: ClassVar[tuple[str, ...]] = ("throttles", "grants_to_others")
    traits: ClassVar[Trait] = Trait(0)
    neutral: ClassVar[Mapping[str, object]] = {"target": "holder"}
    until: ClassVar[None] = None
    unserved: ClassVar[str] = "nothing of {} can be hit"

    kind: Literal["throttle"]
    target: VictimOrServers
    """holder, holder:r0 (the holder of that resource) or client:0; or servers: lock or storage (all of
    them), lock:leader (whichever leads then), or one by its name, such as etcd-2."""
    share: Annotated[float, Field(ge=0.01, le=0.9)]
    """The share of one CPU that each gets, such as 0.1."""
    at: StopPoint | None = None
    """A stop point, for servers: from each drawn moment on, they are throttled as soon as a holder is
    there, which then goes on."""
    every: Length | None = None
    """They are throttled once in each interval of this length; without it, once per run."""
    lasts: Length
    """How long."""
    when: When = None

    @model_validator(mode="after")
    def _fits_its_target(self) -> Self:
        if hits_servers(self):
            check_aimed_servers(self)
        elif self.at:
            raise ValueError("a client is throttled at no stop point: remove at")
        return self

    @property
    def engine_need(self) -> Literal["throttled"] | None:
        """What the engine must be able to do: limit the CPU of servers."""
        return "throttled" if hits_servers(self) else None

    def aim(self) -> tuple[str, ...]:
        """Return the side or server that is throttled; none if a client is."""
        return aimed_at(self.target) if hits_servers(self) else ()

    def needs(self, reach: FaultReach, _client: int | None = None) -> Needs:
        """Return the servers, and the edges over which they are probed; nothing if a client is hit."""
        return reach.servers_and_edges(self.aim())

    def in_force(self, reach: FaultReach, _wait: Wait) -> InForce:
        """Throttle servers."""
        name, servers = servers_now(reach, self.target)
        return throttle_servers(reach.cluster, name, servers, reach.edges(servers), self.share)

    def in_force_on(self, reach: FaultReach, client: int, _go_on: GoOn | None) -> InForce:
        """Throttle a client."""
        return throttle_client(reach.processes[client], f"client:{client}", self.share)

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield a leader among servers that have none, and stop points that are never reached."""
        yield from unlike_servers(index, self.target, sections)
        yield from never_reached(index, self, sections)


@contextmanager
def throttle_client(process: psutil.Process, target: str, share: float) -> Iterator[InjectedFault]:
    """Let a client with its child processes run for a share of the time until the block ends.

    In force means: it was observed stopped several times. Healed means: it is observed running.
    Raises FaultNotInstalledError if that is not observed.
    """
    with duty_cycle(process, share) as throttling:
        since = time.monotonic_ns()
        seen = _prove_held_up(target, {target: throttling}, lambda: time.sleep(POLL))
        evidence = f"process {process.pid} runs for {share:.0%} of the time: {_shown(seen, since)}"
        fault = InjectedFault("throttle", target, evidence=evidence, since=since)
        yield fault
        total = _shown({target: throttling()}, since)
        fault.until = time.monotonic_ns()  # from here on it may have all the time
    if not process_tree.wait_until_continued(process_tree.members(process)):
        raise FaultNotInstalledError("end of the throttle", target, "the process is still stopped")
    fault.healed = f"process {process.pid} runs again; {total}"


@contextmanager
def throttle_servers(
    cluster: Cluster, target: str, servers: Sequence[str], edges: Iterable[NetworkEdge], share: float
) -> Iterator[InjectedFault]:
    """Limit the CPU of servers until the block ends; `edges` lead to them.

    In force means: each was held up several times, as the kernel counts or as its processes show. An idle
    server needs little CPU, so requests over the edges give it work until then. Healed means: the
    limit is gone, and each answers over every edge.
    Raises FaultNotInstalledError or InfrastructureError if that is not observed.
    """
    probes = Probes.of(cluster, "throttle", target, edges)
    before = probes.prove_whole()
    try:
        with cluster.throttled(servers, share) as throttling:
            since = time.monotonic_ns()
            seen = _prove_held_up(target, throttling, lambda: _give_work(probes))
            evidence = f"limited to {share:.0%} of a CPU: {_shown(seen, since)}"
            fault = InjectedFault("throttle", target, evidence=evidence, since=since)
            yield fault
            total = _shown({name: read() for name, read in throttling.items()}, since)
            fault.until = time.monotonic_ns()  # from here on they may have all the CPU
    finally:
        taken = probes.prove_whole_again()
    fault.healed = (
        f"no limit any more; {total}; answers took {ms(before)} before, and came over every edge within "
        f"{ms(taken)} afterwards"
    )


def _give_work(probes: Probes) -> None:
    """Send requests over every edge for a while."""
    end = time.monotonic() + SPELL
    while time.monotonic() < end:
        replies(probes.edges, ANSWER_TIMEOUT)


def _prove_held_up(
    target: str, throttling: Mapping[str, Throttling], give_work: Callable[[], object]
) -> Mapping[str, Throttled]:
    """Wait until each has been held up often enough."""
    deadline = time.monotonic() + SETTLING
    while True:
        seen = {name: read() for name, read in throttling.items()}
        if all(each.times >= ENOUGH for each in seen.values()):
            return seen
        if time.monotonic() > deadline:
            times = ", ".join(f"{name} {each.times} times" for name, each in seen.items())
            why = f"held up in {SETTLING:g} s: {times} (a server that needs less CPU than its share is not)"
            raise FaultNotInstalledError("throttle", target, why)
        give_work()


def _shown(seen: Mapping[str, Throttled], since: int) -> str:
    elapsed = (time.monotonic_ns() - since) / 1e9
    each = ", ".join(
        f"{name} was held up {found.times} times and used {found.cpu:.2f} s of CPU"
        for name, found in seen.items()
    )
    return f"in {elapsed:.1f} s, {each}"

"""Delay: what a client sends to some servers is held back, and arrives later, in order.

Nothing is lost, and connections stay open: a request arrives even if its client has long given up
waiting for the answer and closed its connection. So a write can arrive after its lease has ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from checkers.history.fault_kinds import FaultKind
from harness.core.duration import NS, format_duration
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Length
from harness.nemesis.contradictions import Contradiction, Sections, ns
from harness.nemesis.edge_probes import Probes, ms
from harness.nemesis.fault import Fault
from harness.nemesis.fields import Side, Victim, named_servers
from harness.nemesis.moments import Moment
from harness.nemesis.reach import Reach
from harness.nemesis.reservations import Need
from harness.nemesis.stop_points import GoOn, Until, check_times, never_granted, never_read
from harness.network.topology import Edge

if TYPE_CHECKING:
    from harness.engines.engine import Cluster

LONGEST = 50 * NS["s"]


class DelaySpec(BaseModel):
    """What a client sends to the lock service, the storage, or some servers is held back for a while."""

    model_config = STRICT
    called: ClassVar[str] = "delay"
    words: ClassVar[FaultKind] = FaultKind(
        lasting="had its messages held back",
        now="has its messages held back",
        afterwards="gets its messages through again",
        short="messages held",
        count="delays",
    )
    counts: ClassVar[tuple[str, ...]] = ("delays",)
    neutral: ClassVar[Mapping[str, str]] = {"target": "holder", "to": "both"}
    engine_need: ClassVar[Literal["partitions"]] = "partitions"
    hits_servers: ClassVar[bool] = False
    aimed_by: ClassVar[str] = "to"
    unserved: ClassVar[str] = "no message to {} can be held back"

    kind: Literal["delay"]
    target: Victim
    """holder, holder:r0 (the holder of that resource) or client:0."""
    side: Side = Field(alias="to")
    """The side whose messages are held back, or a list of servers, such as ["redis-4", "redis-5"]."""
    at: Literal["granted", "acquired", "list-read", "before-write", "before-release"] | None = None
    """The stop point: from there on, its messages are held back."""
    until: Until | None = None
    """superseded: another client was granted a higher token, and its write was accepted. contested: another
    client has read the list that it is about to change (workload append only)."""
    lasts: Length | None = None
    """How long its messages are held back."""
    every: Length | None = None
    """They are held back once in each interval of this length."""
    when: Moment | None = None
    """From the drawn moment on, it waits for this: lease-ending, a holder's lease ends in under 200 ms;
    second-waiter, two clients wait for a lock that another holds."""

    @model_validator(mode="after")
    def _starts_and_ends_in_one_way(self) -> Self:
        check_times(self)
        return self

    def aim(self) -> tuple[str, ...]:
        """Return the sides or servers that the messages are for."""
        return named_servers(self.side)

    def needs(self, reach: Reach, client: int) -> AbstractSet[Need]:
        """Return the edges on which messages are held back."""
        return {Edge(client, server) for server in reach.servers(self.aim())}

    def in_force_on(self, reach: Reach, client: int, go_on: GoOn | None) -> AbstractContextManager[Fault]:
        """Hold back what a client sends from now on."""
        return delay(reach.cluster, client, reach.servers(self.aim()), go_on or (lambda: None))

    def contradictions(self, index: int, sections: Sections) -> Iterator[Contradiction]:
        """Yield stop points that are never reached, and messages that are held back for too long."""
        yield from never_granted(index, self, sections)
        yield from never_read(index, self, sections)
        lasts = ns(self.lasts, sections.lock)
        if lasts and lasts > LONGEST:
            yield Contradiction(
                ("faults", index, "lasts"),
                f"must be at most {format_duration(LONGEST)}: servers close connections that stay silent",
            )


@contextmanager
def delay(cluster: Cluster, client: int, servers: Sequence[str], go_on: GoOn) -> Iterator[Fault]:
    """Hold back what a client sends to these servers until the block ends, and deliver it then.

    `go_on` is called once everything is held back: a client that waited for that may send its message.
    In force means: Toxiproxy shows the toxic on every edge, and a request over each gets no answer,
    although one that was sent just before did. Healed means: Toxiproxy shows no toxic, each of these
    requests was answered after all, and every server answers.
    Raises FaultNotInstalledError if that is not observed. Any thread may call it.
    """
    target = f"client:{client}"
    toxiproxy = cluster.toxiproxy
    if toxiproxy is None:
        raise FaultNotInstalledError("delay", target, "there are no proxies in front of the servers")
    probes = Probes.of(cluster, "delay", target, (Edge(client, name) for name in servers))
    before = probes.prove_whole()
    try:
        shown = {str(toxiproxy.hold(edge, "to-server")) for edge in probes.edges}
        since = time.monotonic_ns()
        go_on()
        with probes.held() as held:
            silence = held.prove_silent(before)
            evidence = (
                f"messages to {', '.join(servers)} are held back: Toxiproxy shows {', '.join(shown)}; "
                f"answers took {ms(before)} before, and a request of {held.size} bytes to each got none in "
                f"{ms(silence)} since"
            )
            fault = Fault("delay", target, evidence=evidence, since=since)
            yield fault
            fault.until = time.monotonic_ns()  # from here on messages may arrive
            probes.heal(toxiproxy)
            delivered = held.prove_delivered()
    finally:
        probes.heal(toxiproxy)
        taken = probes.prove_whole_again()
    fault.healed = (
        f"Toxiproxy shows no toxic; the requests that were held back were answered within {ms(delivered)}, "
        f"and every server answered within {ms(taken)}"
    )

"""Clock: the wall clock of running servers jumps, as after a wrong step by NTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel, field_validator

from checkers.history.fault_kinds import KINDS, FaultKind
from harness.core.duration import NS, Span, format_duration
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Duration, Length
from harness.nemesis.contradictions import Contradiction, Sections, sides
from harness.nemesis.fault import Fault
from harness.nemesis.fields import Servers
from harness.nemesis.reach import Reach
from harness.nemesis.reservations import Need
from harness.network import redis_server
from harness.network.topology import Address

if TYPE_CHECKING:
    from harness.engines.engine import Cluster

SHORTEST_JUMP = 2 * NS["s"]
TOLERANCE = NS["s"]  # ns; between a server's clock and ours, which are not read at the same moment


class ClockSpec(BaseModel):
    """The wall clock of running Redis servers jumps ahead, and later back again."""

    model_config = STRICT
    called: ClassVar[str] = "clock jump"
    words: ClassVar[FaultKind] = KINDS["clock"]
    counts: ClassVar[tuple[str, ...]] = ("clock_jumps",)
    neutral: ClassVar[Mapping[str, str]] = {"target": "lock"}
    engine_need: ClassVar[Literal["clocks"]] = "clocks"
    at: ClassVar[None] = None
    hits_servers: ClassVar[bool] = True
    aimed_by: ClassVar[str] = "target"
    unserved: ClassVar[str] = "nothing of {} can be hit"

    kind: Literal["clock"]
    target: Servers
    """One server by its name, such as redis-3; or lock or storage (all its servers)."""
    jump: Duration
    """How far ahead."""
    every: Length | None = None
    """It jumps once in each interval of this length; without it, once per run."""
    lasts: Length
    """How long until it jumps back."""

    @field_validator("jump")
    @classmethod
    def _is_measurable(cls, jump: int) -> int:
        if jump < SHORTEST_JUMP:
            raise ValueError("must be at least 2s: a shorter jump cannot be measured reliably")
        return jump

    def aim(self) -> tuple[str, ...]:
        """Return the side or server whose clock jumps."""
        return (self.target,)

    def needs(self, reach: Reach) -> AbstractSet[Need]:
        """Return the servers; they still answer, so no edges."""
        return {*reach.servers(self.aim())}

    def in_force(self, reach: Reach, _wait: Callable[[Span], None]) -> AbstractContextManager[Fault]:
        """Move the clocks."""
        return clock_jump(reach.cluster, reach.recorded(self.target), reach.servers(self.aim()), self.jump)

    def contradictions(self, index: int, sections: Sections) -> Iterator[Contradiction]:
        """Yield servers whose clock cannot be moved: only those in our own Redis image can."""
        for name, side in sides(sections).items():
            if side is None or not {name, *side.servers} & {self.target} or not side.servers:
                continue
            key = ("faults", index, "target")
            if side.system != "redis":
                yield Contradiction(
                    key, f"only the clock of a Redis server can be moved, but this is {side.system}"
                )
            elif side.image:
                yield Contradiction(
                    key, f"its clock cannot be moved: {name}.image is {side.image}, not Fencepost's own"
                )


@contextmanager
def clock_jump(cluster: Cluster, target: str, servers: Sequence[str], jump: int) -> Iterator[Fault]:
    """Set the clocks of Redis servers `jump` ns ahead until the block ends.

    In force means: each reports a time that far ahead of ours. Healed means: each reports ours.
    Raises FaultNotInstalledError if that is not observed.
    """
    addresses = {server.name: server.address for server in cluster.servers if server.name in servers}
    _prove("clock", target, addresses, 0)
    try:
        for name in addresses:
            cluster.move_clock(name, jump)
        fault = Fault("clock", target, evidence=_prove("clock", target, addresses, jump))
        yield fault
    finally:
        for name in addresses:
            cluster.move_clock(name, 0)
    fault.healed = _prove("end of the clock's jump", target, addresses, 0)


def _prove(what: str, target: str, addresses: dict[str, Address], expected: int) -> str:
    """Check that every clock is `expected` ns ahead of ours, and return the evidence."""
    seen = {name: redis_server.clock(address) - time.time_ns() for name, address in addresses.items()}
    shown = ", ".join(f"{name} {_ahead(ns)}" for name, ns in seen.items())
    if any(abs(ns - expected) > TOLERANCE for ns in seen.values()):
        raise FaultNotInstalledError(what, target, f"by TIME, {shown}")
    return f"by TIME, {shown}"


def _ahead(ns: int) -> str:
    return f"is {format_duration(abs(ns))} {'ahead of' if ns > 0 else 'behind'} this machine's clock"

"""Clock: the clock of running servers jumps, as after a wrong step by NTP, or runs at a wrong rate."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from checkers.vocabulary.fault_kinds import KINDS, FaultKind
from harness.core.duration import DURATION_PATTERN, NS, format_duration, parse_duration
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Length
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait, sides
from harness.nemesis.fault import InForce, InjectedFault, Wait
from harness.nemesis.fields import Servers
from harness.nemesis.moments import When
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs
from harness.network.systems import SYSTEMS, ServerClock
from harness.network.topology import Server, Shift

WHY_NOT = {"kahuna": ": Fencepost has no image of it that preloads its library"}
SHORTEST_JUMP = 2 * NS["s"]
SLOWEST = 0.2  # s gained or lost in each second: SHORTEST_JUMP in 10 s
TOLERANCE = NS["s"]  # ns; between a server's clock and ours, which are not read at the same moment
LEAD = 2 * NS["s"]  # ns until a drift begins or ends: a server must know before, or a clock would go back
POLL = 0.05  # s


def _jump(value: object) -> int:
    """Parse "1h" or "-1h" to ns."""
    if isinstance(value, str) and value.startswith("-"):
        return -parse_duration(value[1:])
    return parse_duration(value)


Jump = Annotated[
    int,
    BeforeValidator(_jump),
    WithJsonSchema(
        {"type": "string", "pattern": DURATION_PATTERN.replace("^", "^-?", 1), "examples": ["1h", "-1h"]}
    ),
]


class ClockSpec(BaseModel):
    """The clock of running servers jumps, or runs at a wrong rate, and is set right later.

    It is the wall clock, but the monotonic clock of ZooKeeper, by which its sessions end. That one never
    goes back: a jump ahead stays, and what it gained stays.
    """

    model_config = STRICT
    called: ClassVar[str] = "clock jump"
    words: ClassVar[FaultKind] = KINDS["clock"]
    counts: ClassVar[tuple[str, ...]] = ("clock_jumps",)
    traits: ClassVar[Trait] = Trait.NEEDS_HOLDER
    neutral: ClassVar[Mapping[str, object]] = {"target": "lock", "jump": "1h", "drift": 0.0}
    engine_need: ClassVar[Literal["clocks"]] = "clocks"
    at: ClassVar[None] = None
    unserved: ClassVar[str] = "nothing of {} can be hit"

    kind: Literal["clock"]
    target: Servers
    """One server by its name, such as redis-3; or lock or storage (all its servers)."""
    jump: Jump = 0
    """How far ahead, such as "1h"; or back, such as "-1h"."""
    drift: Annotated[float, Field(ge=-0.9, le=10)] = 0.0
    """In place of a jump: the seconds that it gains in each second, such as 1 (twice as fast); below 0,
    that it loses: -0.5 (half as fast)."""
    every: Length | None = None
    """It is moved once in each interval of this length; without it, once per run."""
    lasts: Length
    """How long until it is set right."""
    when: When = None

    @field_validator("jump")
    @classmethod
    def _is_measurable(cls, jump: int) -> int:
        if abs(jump) < SHORTEST_JUMP:
            raise ValueError("must be at least 2s: a shorter jump cannot be measured reliably")
        return jump

    @field_validator("drift")
    @classmethod
    def _is_measurable_soon(cls, drift: float) -> float:
        if drift and abs(drift) < SLOWEST:
            raise ValueError(
                f"must be at least {SLOWEST}, or at most -{SLOWEST}: less takes too long to measure"
            )
        return drift

    @model_validator(mode="after")
    def _moves_in_one_way(self) -> Self:
        if bool(self.jump) == bool(self.drift):
            raise ValueError('a clock moves in one way: give jump, such as "1h", or drift, such as 1.0')
        return self

    def aim(self) -> tuple[str, ...]:
        """Return the side or server whose clock moves."""
        return (self.target,)

    def needs(self, reach: FaultReach) -> Needs:
        """Return the servers; they still answer, so no edges."""
        return {*reach.servers(self.aim())}

    def in_force(self, reach: FaultReach, _wait: Wait) -> InForce:
        """Move the clocks."""
        servers = reach.servers(self.aim())
        return clock_moved(
            reach.cluster, reach.recorded(self.target), servers, jump=self.jump, drift=self.drift
        )

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield servers whose clock cannot be moved, or not so."""
        for name, side in sides(sections).items():
            if side is None or not {name, *side.servers} & {self.target} or not side.servers:
                continue
            clock = SYSTEMS[side.system].clock
            if clock is None:
                movable = ", ".join(name for name, system in SYSTEMS.items() if system.clock)
                why = WHY_NOT.get(side.system, "")
                found = f"the clock of {side.system} cannot be moved{why}; those of {movable} can"
                yield SettingConflict(("faults", index, "target"), found)
            elif side.image:
                found = f"its clock cannot be moved: {name}.image is {side.image}, not Fencepost's own"
                yield SettingConflict(("faults", index, "target"), found)
            elif version := getattr(side, "version", None):
                found = f"its clock cannot be moved: {name}.version {version} is built as a static program"
                yield SettingConflict(("faults", index, "target"), f"{found}, which preloads no library")
            elif clock.is_monotonic and self.jump < 0:
                yield SettingConflict(
                    ("faults", index, "jump"),
                    f"must be ahead: {side.system} counts on a monotonic clock, which never goes back",
                )


@contextmanager
def clock_moved(
    cluster: Cluster, target: str, servers: Sequence[str], *, jump: int = 0, drift: float = 0.0
) -> Iterator[InjectedFault]:
    """Let the clocks of servers jump by `jump` ns, or gain `drift` s in each second, until the block ends.

    In force means: each shows a time that differs from before by that much, at least by SHORTEST_JUMP.
    Healed means: each shows the right time; a clock that never goes back, the right rate.
    Raises FaultNotInstalledError if that is not observed.
    """
    begins = time.monotonic_ns() + (LEAD if drift else 0)
    clocks = [
        _Moved.by(Shift(ahead=jump, drift=drift, since=begins), cluster, target, server)
        for server in cluster.servers
        if server.name in servers
    ]
    try:
        for each in clocks:
            cluster.set_clock(each.server.name, each.shift)
        while drift and abs(drift) * (time.monotonic_ns() - begins) < SHORTEST_JUMP:
            time.sleep(POLL)
        evidence = ", ".join(each.proved("clock", each.shift) for each in clocks)
        fault = InjectedFault("clock", target, evidence=evidence, since=begins)
        yield fault
    finally:
        ends = time.monotonic_ns() + LEAD
        left = [each.corrected(ends) for each in clocks]
        for each, shift in zip(clocks, left, strict=True):
            cluster.set_clock(each.server.name, shift)
    while any(shift.drift for shift in left) and time.monotonic_ns() < ends:
        time.sleep(POLL)
    fault.healed = ", ".join(
        each.proved("end of the clock's move", shift) for each, shift in zip(clocks, left, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Moved:
    """The clock of a server, and how it is to be shifted."""

    target: str
    server: Server
    clock: ServerClock
    unshifted: int  # ns; ahead of ours
    shift: Shift

    @classmethod
    def by(cls, shift: Shift, cluster: Cluster, target: str, server: Server) -> Self:
        """Read a clock, and add a shift to the one that it has."""
        clock = SYSTEMS[server.system].clock
        if clock is None:
            raise FaultNotInstalledError("clock", target, f"no clock of {server.system} can be moved")
        before = cluster.shift_of(server.name).at(time.monotonic_ns())
        moved = replace(shift, ahead=before + shift.ahead)
        return cls(target, server, clock, _ahead_of_ours("clock", target, server, clock) - before, moved)

    def corrected(self, ends: int) -> Shift:
        """Return the shift of the right time; of a clock that never goes back, of the right rate."""
        return replace(self.shift, until=ends) if self.clock.is_monotonic else Shift()

    def proved(self, what: str, shift: Shift) -> str:
        """Check that it is shifted so, and return the evidence."""
        ahead = _ahead_of_ours(what, self.target, self.server, self.clock) - self.unshifted
        way = "ahead of" if ahead > 0 else "behind"
        found = f"{self.server.name} is {format_duration(abs(ahead))} {way} the right time"
        if abs(ahead - shift.at(time.monotonic_ns())) > TOLERANCE:
            raise FaultNotInstalledError(what, self.target, f"by {self.clock.shown_by}, {found}")
        return f"by {self.clock.shown_by}, {found}"


def _ahead_of_ours(what: str, target: str, server: Server, clock: ServerClock) -> int:
    asked = time.time_ns()
    try:
        return clock.read(server.address) - (asked + time.time_ns()) // 2
    except OSError as error:
        raise FaultNotInstalledError(what, target, f"{server.name} does not say the time: {error}") from error

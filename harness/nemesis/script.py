"""Script: commands of the user inject, observe and heal a fault on servers that Fencepost did not start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from checkers.vocabulary.fault_kinds import FaultKind
from harness.core.duration import NS
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Duration, Length, Words
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait
from harness.nemesis.edge_probes import Probes
from harness.nemesis.fault import InForce, InjectedFault, Wait, polls
from harness.nemesis.fields import Servers
from harness.nemesis.moments import When
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs
from harness.network.topology import NetworkEdge
from harness.processes.cleanup_process import healed_at_end
from harness.processes.script import EndedCommand, run

IN_FORCE, NOT_IN_FORCE = 0, 1  # status of `observe`; any other: it cannot tell
POLL = 0.1  # s


class ScriptSpec(BaseModel):
    """Servers are hit by a fault that commands of yours inject, observe and heal."""

    model_config = STRICT
    called: ClassVar[str] = "script"
    words: ClassVar[FaultKind] = FaultKind(
        lasting="was under a script's fault",
        now="is under a script's fault",
        afterwards="is healed",
        short="script",
        count="scripts",
    )
    counts: ClassVar[tuple[str, ...]] = ("scripts",)
    traits: ClassVar[Trait] = Trait.SUITS_MANAGER | Trait.BY_USER
    neutral: ClassVar[Mapping[str, object]] = {"target": "lock"}
    engine_need: ClassVar[None] = None
    at: ClassVar[None] = None
    until: ClassVar[None] = None
    unserved: ClassVar[str] = "no script can be aimed at {}"

    kind: Literal["script"]
    target: Servers
    """The servers that it hits: lock or storage (all of them), or one by its name, such as etcd-2."""
    inject: Words
    """The command that injects the fault, such as ["docker", "pause", "etcd"]."""
    observe: Words
    """The command that ends with status 0 while the fault is in force, and with status 1 while it is not."""
    heal: Words
    """The command that ends the fault; it runs even if inject failed, and if Fencepost is killed."""
    timeout: Duration = Field(30 * NS["s"], json_schema_extra={"default": "30s"})
    """How long each command may take, and how long until observe sees the fault, or its end."""
    every: Length | None = None
    """It strikes once in each interval of this length; without it, once per run."""
    lasts: Length
    """How long it is in force."""
    when: When = None

    def aim(self) -> tuple[str, ...]:
        """Return the side or server that it hits."""
        return (self.target,)

    def commands(self) -> Mapping[str, tuple[str, ...]]:
        """Return the commands, by their keys."""
        return {"inject": self.inject, "observe": self.observe, "heal": self.heal}

    def needs(self, reach: FaultReach) -> Needs:
        """Return the servers, and the edges over which their recovery is proved."""
        return reach.servers_and_edges(self.aim())

    def in_force(self, reach: FaultReach, _wait: Wait) -> InForce:
        """Run the commands."""
        servers = reach.servers(self.aim())
        return script(reach.cluster, reach.recorded(self.target), reach.edges(servers), self)

    def contradictions(self, _index: int, _sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield nothing: the user's commands may hit any server."""
        return iter(())


@contextmanager
def script(
    cluster: Cluster, target: str, edges: Iterable[NetworkEdge], spec: ScriptSpec
) -> Iterator[InjectedFault]:
    """Keep the fault of a script in force until the block ends; `edges` lead to its servers.

    In force means: `observe` did not see it before, and sees it since. Healed means: `heal` succeeded,
    `observe` does not see it any more, and each server answers over every edge.
    Raises FaultNotInstalledError if that is not observed. `heal` runs in any case, also when this
    process is killed.
    """
    probes = Probes.of(cluster, "script", target, edges)
    timeout = spec.timeout / NS["s"]
    probes.prove_whole()
    _observed(spec.observe, NOT_IN_FORCE, timeout, "script", target, "before inject")
    with healed_at_end(spec.heal, timeout) as heal:
        try:
            injected = run(spec.inject, timeout)
            if injected.status != 0:
                raise FaultNotInstalledError("script", target, str(injected))
            seen = _observed(spec.observe, IN_FORCE, timeout, "script", target, "after inject")
            fault = InjectedFault("script", target, evidence=f"{injected}, and {seen}")
            yield fault
            fault.until = time.monotonic_ns()  # from here on it may be healed
        finally:
            healed = heal()
        if healed.status != 0:
            raise FaultNotInstalledError("end of the script", target, str(healed))
    seen = _observed(spec.observe, NOT_IN_FORCE, timeout, "end of the script", target, "after heal")
    taken = probes.prove_whole_again()
    fault.healed = f"{healed}, and {seen}{probes.healing_in_words(taken)}"


def _observed(
    words: Sequence[str], status: int, timeout: float, kind: str, target: str, when: str
) -> EndedCommand:
    """Run `observe` until it ends with a status."""
    for _ in polls(timeout, POLL):
        if (seen := run(words, timeout)).status == status:
            return seen
    means = "in force" if status == IN_FORCE else "not in force"
    said = f"{seen} {when}, where {status} ({means}) must be its status"
    raise FaultNotInstalledError(kind, target, said)

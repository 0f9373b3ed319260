"""Pause: a client's process is stopped, as by a long garbage collection.

Its child processes, such as the user's program, are stopped and continued with it. Servers are stopped
with all their processes: their connections stay open, and the requests that wait in their sockets are
carried out afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Literal, Self

import psutil
from pydantic import BaseModel, model_validator

from checkers.vocabulary.fault_kinds import KINDS, FaultKind
from checkers.vocabulary.hazards import Cell
from harness.core.errors import FaultNotInstalledError
from harness.core.fields import STRICT, Length
from harness.core.suggestions import did_you_mean
from harness.engines.engine import Cluster
from harness.nemesis.contradictions import OtherSections, SettingConflict, Trait, hits_servers
from harness.nemesis.edge_probes import Probes, silenced
from harness.nemesis.fault import GoOn, InForce, InjectedFault, Wait
from harness.nemesis.fields import AIMED_AT, WAITER, Hazards, VictimOrServers, is_victim, of_pauses
from harness.nemesis.leader import aimed_at, servers_now, unlike_servers
from harness.nemesis.moments import When
from harness.nemesis.reach import FaultReach
from harness.nemesis.reservations import Needs
from harness.nemesis.stop_points import StopPoint, Until, check_times, never_reached
from harness.network.topology import NetworkEdge
from harness.processes import process_tree


class PauseSpec(BaseModel):
    """A client's process, or servers, are stopped and later continued, as by a long garbage collection.

    With `at`, a client stops itself at that point; with `every`, it is stopped from outside,
    once in each interval of that length, at a moment drawn from the seed.
    """

    model_config = STRICT
    called: ClassVar[str] = "pause"
    words: ClassVar[FaultKind] = KINDS["pause"]
    counts: ClassVar[tuple[str, ...]] = ("pauses", "pauses_past_lease", "grants_to_others")
    traits: ClassVar[Trait] = Trait.HITS_WAITERS | Trait.FREEZES
    neutral: ClassVar[Mapping[str, object]] = {"target": "holder"}
    engine_need: ClassVar[None] = None
    unserved: ClassVar[str] = "nothing of {} can be hit"

    kind: Literal["pause"]
    target: VictimOrServers
    """holder, holder:r0 (the holder of that resource) or client:0; or servers: lock or storage (all of
    them), lock:leader (whichever leads then), or one by its name, such as etcd-2; or waiter: a client that
    waits for the lock of the holder that reaches the stop point."""
    at: StopPoint | None = None
    """The stop point. Servers or a waiter are stopped while a holder is there, which then goes on."""
    until: Until | None = None
    """superseded: another client was granted a higher token, and its write was accepted; at granted,
    where there may be no token yet: it was granted the lock later. freed: it has also released the lock,
    and no client holds it or waits for it. contested: another client has read
    the list that it is about to change (workload append only)."""
    lasts: Length | None = None
    """How long it stays stopped."""
    hazards: Hazards | None = None
    """It aims at dangerous moments of the target (holder, waiter, lock, lock:leader or storage), one after
    another on each resource, in place of one stop point and one end: "all", or a list such as
    ["write-sent/superseded"]. See docs/hazards.md."""
    every: Length | None = None
    """It is stopped from outside once in each interval of this length; without it, servers once per run."""
    when: When = None

    @model_validator(mode="after")
    def _starts_and_ends_in_one_way(self) -> Self:
        if self.hazards is not None:
            others = (self.at, self.until, self.lasts, self.every, self.when)
            known = of_pauses(self.target)
            if any(others):
                raise ValueError("hazards say when pauses begin and end: give only the target with them")
            if not known:
                raise ValueError(
                    f"hazards are aimed at a holder, a waiter or a side, and not at {self.target}"
                    f"{did_you_mean(self.target, AIMED_AT)}"
                )
            if wrong := [str(cell) for cell in self.cells if cell not in known]:
                raise ValueError(f"{wrong[0]} is no hazard that a pause of {self.target} can hit")
        elif self.at or not hits_servers(self):
            check_times(self)
        elif self.until or not self.lasts:
            instead = ", not until" if self.until else ""
            raise ValueError(f"a pause of servers without a stop point needs a length: give lasts{instead}")
        if self.target == WAITER and not self.at and self.hazards is None:
            raise ValueError("a client waits for a holder: say where that is (at)")
        return self

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The dangerous moments that it aims at, if it aims at several."""
        if self.hazards is None:
            return ()
        return of_pauses(self.target) if self.hazards == "all" else tuple(map(Cell.named, self.hazards))

    def aim(self) -> tuple[str, ...]:
        """Return the side or server that stops; none if a client does."""
        return aimed_at(self.target) if hits_servers(self) else ()

    def needs(self, reach: FaultReach, _client: int | None = None) -> Needs:
        """Return the servers, and the edges over which their pause is proved; nothing if a client is hit."""
        return reach.servers_and_edges(self.aim())

    def in_force(self, reach: FaultReach, _wait: Wait) -> InForce:
        """Stop servers."""
        name, servers = servers_now(reach, self.target)
        return pause_servers(reach.cluster, name, servers, reach.edges(servers))

    def in_force_on(self, reach: FaultReach, client: int, go_on: GoOn | None) -> InForce:
        """Stop a client from outside, or wait for one that stops itself."""
        return pause(reach.processes[client], f"client:{client}", stops_itself=go_on is not None)

    def contradictions(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield stop points that are never reached, and ends that cannot occur."""
        yield from unlike_servers(index, self.target, sections)
        yield from never_reached(index, self, sections)
        yield from self._write_sent(index, sections)
        yield from self._never_acquired(index, sections)
        yield from self._never_hit(index, sections)

    def _never_hit(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """Yield the hazards of a list that these systems rule out."""
        if self.hazards is None or self.hazards == "all":
            return
        for cell in self.cells:
            aimed = self.model_copy(update={"at": cell.point.value, "until": cell.end.value, "hazards": None})
            for found in aimed.contradictions(index, sections):
                yield SettingConflict(("faults", index, "hazards"), f"{cell} {found.problem}")

    def _never_acquired(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """What a holder does next says where it was when others were hit: a register writes."""
        writes_next = sections.workload and sections.workload.kind == "register"
        fences = sections.storage and sections.storage.fence_on_acquire
        if self.at == "acquired" and not is_victim(self.target) and writes_next and not fences:
            yield SettingConflict(
                ("faults", index, "at"),
                f'is "before-write" for {self.target}: a holder in the workload register writes next',
            )

    def _write_sent(self, index: int, sections: OtherSections) -> Iterator[SettingConflict]:
        """A client stopped between UPDATE and COMMIT holds the row's lock: no client can supersede it."""
        storage, of_others = sections.storage, ("contested", "superseded", "freed")
        is_waited_for = is_victim(self.target) and self.at == "write-sent" and self.until in of_others
        if is_waited_for and storage and not storage.writes_in_one_message:
            yield SettingConflict(
                ("faults", index, "until"),
                f'cannot occur at "write-sent" with storage.fencing "{storage.fencing}": '
                "the stopped client's open transaction locks out all others; give lasts instead",
            )


@contextmanager
def pause(process: psutil.Process, target: str, *, stops_itself: bool = False) -> Iterator[InjectedFault]:
    """Keep a process and its child processes stopped until the block ends.

    For one that `stops_itself`, this only waits: a signal from here could arrive before its
    own, which would then stop it again after the end.
    Raises FaultNotInstalledError if it is not observed stopped, or not observed running again.
    """
    if not stops_itself:
        process.suspend()
    try:
        stopped = process_tree.stop_offspring(process) if process_tree.wait_until_stopped(process) else None
        if stopped is None:
            raise FaultNotInstalledError("pause", target, _why_not(process))
        fault = InjectedFault("pause", target, evidence=f"{_named(stopped)} stopped (state T)")
        yield fault
        fault.until = time.monotonic_ns()  # from here on the process may record events
    finally:
        process_tree.continue_all(process)
    if not process_tree.wait_until_continued(stopped):
        raise FaultNotInstalledError("end of the pause", target, "the process is still stopped")
    fault.healed = f"{_named(stopped)} running again"


def _why_not(process: psutil.Process) -> str:
    if process_tree.is_stopped(process):
        return "a child process is still running"
    return f"the process is {process.status()}"


def _named(processes: list[psutil.Process]) -> str:
    numbers = ", ".join(str(process.pid) for process in processes)
    return f"process {numbers}" if len(processes) == 1 else f"processes {numbers}"


@contextmanager
def pause_servers(
    cluster: Cluster, target: str, servers: Sequence[str], edges: Iterable[NetworkEdge]
) -> Iterator[InjectedFault]:
    """Keep servers stopped until the block ends; `edges` lead to them, and prove it.

    In force means: the engine sees all their processes stopped, and each edge that answered just
    before is silent. Healed means: it sees them running, and each answers over every edge.
    Raises FaultNotInstalledError or InfrastructureError if that is not observed.
    """
    probes = Probes.of(cluster, "pause", target, edges)
    with silenced(probes, lambda: cluster.pause(servers), lambda: cluster.resume(servers)) as fault:
        yield fault
        if fault.until is None:
            fault.until = time.monotonic_ns()  # from here on they may answer

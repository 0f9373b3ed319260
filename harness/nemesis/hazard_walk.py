"""A walk over the hazards of a target: pauses that aim at one dangerous moment after another.

They stop holders, clients that wait for a holder's lock, or servers while a holder is at a stop point.

There is one walker for each resource, and all take their next aim from the same list, in the
order of the plan. The moments follow from what the clients do. A pause that did not end as
aimed, or for which no client came, is tried again after the others; after the last hazard the
list begins again, until the end of the run.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from checkers.hazards import Cell, End, Hit
from harness.clients.shared_state import ANY
from harness.nemesis.client_faults import ClientFaults
from harness.nemesis.faults import FaultSpec, aims_at_hazards
from harness.nemesis.pause import PauseSpec
from harness.nemesis.triggers import StopRequest, Victim
from harness.nemesis.windows import Tally

SHORT = "0.1 ttl"  # a pause that ends before the lease does
SHORTER = "20ms"  # a pause that ends before the holder, which goes on meanwhile, releases its lock
PATIENCE = 1  # TTLs until another hazard is tried, because no client has come to this one
TAKES = {End.BEFORE_EXPIRY: 0.5, End.EXPIRED: 1.2, End.REGRANTED: 1.5, End.SUPERSEDED: 1.5}
"""TTLs before the end of a run in which a pause no longer begins: it could not end as it should."""
FEWEST = 2  # clients for each walker: one that is paused, and one to take over


@dataclass(frozen=True, slots=True)
class Aims:
    """The list that the walkers share."""

    cells: tuple[Cell, ...]
    tally: Tally = field(default=lambda _why: None)  # of the windows of all walkers
    _left: deque[Cell] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, room: float) -> Cell | None:
        """Take the next one that fits into so many TTLs, or None; after the last, begin again."""
        with self._lock:
            if not self._left:
                self._left.extend(self.cells)
            fitting = next((cell for cell in self._left if TAKES[cell.end] <= room), None)
            if fitting is not None:
                self._left.remove(fitting)
            return fitting

    def again(self, cell: Cell) -> None:
        """Try one again, after the others."""
        with self._lock:
            self._left.append(cell)


def walkers(fault: PauseSpec, clients: int, resources: int) -> tuple[int, ...]:
    """Return the resource of each walker; fewer than resources if that leaves too few clients running."""
    if fault.hits_servers:
        return (ANY,)  # all resources have the same servers
    victim = Victim.of_holder(fault.target)
    if victim.resource != ANY:
        return (victim.resource,)
    return tuple(range(max(1, min(resources, clients // FEWEST))))


def stop_requests(faults: Sequence[FaultSpec], clients: int, resources: int) -> list[int]:
    """Return the number of the first stop request of each fault, and how many there are in all."""
    counts = (len(walkers(fault, clients, resources)) if aims_at_hazards(fault) else 1 for fault in faults)
    return [*accumulate(counts, initial=0)]


def walk(clients: ClientFaults, index: int, fault: PauseSpec, resource: int, aims: Aims, end: int) -> None:
    """Aim at one hazard after another on a resource, as long as there is time for one before `end` (ns)."""
    victim = Victim(resource=resource)
    patience = PATIENCE * clients.ttl
    while not clients.over.is_set():
        now = time.monotonic_ns()
        cell = aims.next((end - now) / clients.ttl)
        if cell is None:
            return
        request = StopRequest(clients.state, index, cell.point, victim)
        until = min(end - round(TAKES[cell.end] * clients.ttl), now + patience)
        as_aimed = clients.strike_once(aimed(fault, cell), request, until, aims.tally, first_of_hold=True)
        if not as_aimed:
            aims.again(cell)


def aimed(fault: PauseSpec, cell: Cell) -> PauseSpec:
    """Return the pause that hits one cell."""
    until = None if cell.end is End.BEFORE_EXPIRY else cell.end.value
    short = SHORT if cell.hit is Hit.HOLDER else SHORTER
    ends = {"lasts": short} if until is None else {"until": until}
    return PauseSpec.model_validate({"kind": "pause", "target": fault.target, "at": cell.point.value} | ends)

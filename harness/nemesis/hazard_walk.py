"""A walk over the hazards of a target: pauses that aim at one dangerous moment after another.

They stop holders, clients that wait for a holder's lock, or servers while a holder is at a stop point.

All resources are walked at once, and take their next aim from the same list, in the order of the plan.
Each has a walker of its own; but servers, which all share, are paused for all of them together. The
moments follow from what the clients do. A hazard that a pause did not meet as aimed, or for which no
client came, is tried again after the others; after the last one the list begins again, until the end of
the run.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate

from checkers.vocabulary.hazards import Cell, End, Hit, Point
from harness.clients.shared_state import ANY
from harness.nemesis.client_faults import ClientFaults
from harness.nemesis.faults import FaultSpec, aims_at_hazards
from harness.nemesis.line_up import LineUp, Place
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import BY_LUCK, FIRST, TAKES, are_alike
from harness.nemesis.triggers import StopRequest, Victim, wait_until
from harness.nemesis.windows import Tally

SHORT = "0.1 ttl"  # a pause that ends before the lease does
SHORTER = "20ms"  # a pause that ends before the holder, which goes on meanwhile, releases its lock
PATIENCE = 1  # TTLs until another hazard is tried, because no client has come to this one
RENEWAL = 1.5  # the same for one that begins at a renewal: a holder waits for it for nearly a TTL
FEWEST = 2  # clients for each walker: one that is paused, and one to take over


@dataclass(frozen=True, slots=True)
class Aims:
    """The list that the walkers share; each of them takes the first moment that makes a write stale."""

    cells: tuple[Cell, ...]
    walkers: int = 1
    tally: Tally = field(default=lambda _why: None)  # of the windows of all walkers
    unreached: Callable[[], Container[str]] = tuple  # the points to which clients never come, by now
    _left: deque[Cell] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        first = [cell for cell in self.cells[:1] if cell == FIRST]
        self._left.extend((*first * (self.walkers - 1), *self.cells))

    def take(self, room: float, most: int = 1) -> tuple[Cell, ...]:
        """Take the next one that fits into so many TTLs, and others that the same fault may hit, or none.

        After the last, begin again.
        """
        with self._lock:
            never = self.unreached()
            possible = [cell for cell in self._left if cell.point not in never]
            possible = possible or [cell for cell in self.cells if cell.point not in never]
            self._left.clear()
            self._left.extend(possible)
            fitting = [cell for cell in self._left if TAKES[cell.end] <= room]
            alike = [cell for cell in fitting if are_alike(cell, fitting[0])]
            by_luck = [cell for cell in fitting if cell.end is BY_LUCK.get(fitting[0].end)]
            taken = (alike + by_luck)[:most]
            for cell in taken:
                self._left.remove(cell)
            return tuple(taken)

    def done(self, cell: Cell, end: End | None) -> None:
        """Strike off what a pause hit; try what it aimed at again after the others, if that was not it.

        `end`: what had become of the hold; None if there was no pause.
        """
        with self._lock:
            if end is not cell.end:
                self._left.append(cell)
            hit = [other for other in self._left if (other.point, other.end) == (cell.point, end)]
            for other in hit:
                self._left.remove(other)


def walkers(fault: PauseSpec, clients: int, resources: int) -> tuple[int, ...]:
    """Return the resource of each walker; fewer than resources if that leaves too few clients running."""
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
    while not clients.over.is_set():
        now = time.monotonic_ns()
        cells = aims.take((end - now) / clients.ttl)
        if not cells:
            return
        (cell,) = cells
        request = StopRequest(clients.state, index, cell.point, victim)
        patience = RENEWAL if cell.point is Point.RENEWING else PATIENCE
        until = min(end - round(TAKES[cell.end] * clients.ttl), now + round(patience * clients.ttl))
        as_aimed = clients.strike_once(aimed(fault, cell), request, until, aims.tally, first_of_hold=True)
        aims.done(cell, cell.end if as_aimed else None)


def walk_servers(
    clients: ClientFaults, index: int, fault: PauseSpec, resources: Sequence[int], aims: Aims, end: int
) -> None:
    """Aim at one hazard of each resource after another, as above; `index`: of the first stop request."""
    state = clients.state
    while not clients.over.is_set():
        cells = aims.take((end - time.monotonic_ns()) / clients.ttl, len(resources))
        if not cells:
            return
        last = end - round(TAKES[cells[0].end] * clients.ttl)
        most_awaited = sorted(resources, key=state.waiting_for, reverse=True)
        at_grant_first = sorted(cells, key=lambda cell: cell.point is not Point.GRANTED)
        places = [
            Place(
                cell=cell,
                request=StopRequest(state, number, cell.point, Victim(resource=resource)),
                next_request=StopRequest(state, number, Point.ACQUIRED, Victim(resource=resource)),
            )
            for number, (cell, resource) in enumerate(zip(at_grant_first, most_awaited, strict=False), index)
        ]
        if wait_until(partial(clients.is_free, fault), last, clients.over.is_set):
            LineUp(clients, fault, cells[0].end, places).strike(last, aims.tally)
        for place in places:
            aims.done(place.cell, place.end)


def aimed(fault: PauseSpec, cell: Cell) -> PauseSpec:
    """Return the pause that hits one cell."""
    until = None if cell.end is End.BEFORE_EXPIRY else cell.end.value
    short = SHORT if cell.hit is Hit.HOLDER else SHORTER
    ends = {"lasts": short} if until is None else {"until": until}
    return PauseSpec.model_validate({"kind": "pause", "target": fault.target, "at": cell.point.value} | ends)

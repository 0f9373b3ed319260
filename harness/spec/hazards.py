"""The hazards of a target: the dangerous moments that its faults can produce, and why not the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from checkers.vocabulary.hazards import (
    CELLS,
    POINTS,
    Cell,
    End,
    Fate,
    HazardTable,
    Hit,
    Point,
    fate_of,
    why_unreached,
)
from harness.core.errors import ConfigurationError
from harness.nemesis.contradictions import Trait
from harness.nemesis.faults import FaultSpec, aims_at_hazards, begins_at_stop_point, hits_servers
from harness.nemesis.fields import WAITER, of_pauses
from harness.nemesis.leader import LEADER
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import PlannedFault, plan
from harness.nemesis.reach import servers_hit
from harness.nemesis.stop_points import ENDS
from harness.spec.fields import HAZARDS
from harness.spec.models import Target

_EVERY = PauseSpec(kind="pause", target="holder", hazards="all")
"""Every dangerous moment of a holder."""

_SHORT = 'lasts = "0.3 ttl"'  # shorter than what is left of any lease

_NEVER_THEN = "no fault of this target ends then"

_RENEWALS = 3  # per TTL: so much of a lease is left at least, while the holder is well

Problem = tuple[int, str]
"""Why a fault cannot hit a cell; of several, the one with the highest number says most."""


def hazard_table(
    target: Target, faults: Sequence[FaultSpec], unreached: AbstractSet[Point] = frozenset()
) -> HazardTable | None:
    """Return the cells that some of the faults can hit, and the others by reason.

    None without faults, and without recorded locks, whose moments they are.
    `unreached`: the points to which no client of a run came, though it could have.
    """
    if not faults or target.workload.is_of_jobs:
        return None
    possible = []
    impossible: dict[str, list[Cell]] = defaultdict(list)
    hits = [frozenset(_hits(fault, target)) for fault in faults]
    for cell in CELLS:
        problems = [
            next(_problems(fault, cell, target, unreached), None)
            if cell.hit in hit
            else (0, f"no fault of this target hits {_WHOM[cell.hit]}")
            for fault, hit in zip(faults, hits, strict=True)
        ]
        if None in problems:
            possible.append(str(cell))
        else:
            impossible[max(filter(None, problems))[1]].append(cell)
    return HazardTable(
        possible=possible,
        impossible={why: list(_shortened(cells)) for why, cells in impossible.items()},
        untried=sum(
            str(cell) not in possible and next(_problems(_EVERY, cell, target, unreached), None) is None
            for cell in _EVERY.cells
        ),
        unreached=sorted(unreached & points_aimed_at(faults), key=[*Point].index),
    )


def points_reported(target: Target) -> frozenset[Point]:
    """Return the points that a target's own class or program reports, if it has them."""
    is_own_lock = ":" in target.lock.kind or "lock" in target.program_sides
    is_own_storage = ":" in target.storage.kind or "storage" in target.program_sides
    of_lock = {Point.GRANTED, Point.RENEWING} if is_own_lock else set()
    return frozenset(of_lock | ({Point.WRITE_SENT} if is_own_storage else set()))


def too_many_required(target: Target) -> Iterator[str]:
    """Say that more hazards are required than the target's faults can hit; "all" is what they can."""
    if not (required := target.require.get(HAZARDS, 0)):
        return
    table = hazard_table(target, target.faults)
    if table is not None and len(table.possible) < required < len(CELLS):
        yield f'is more than its faults can hit: {len(table.possible)}; "all" requires these'


def points_aimed_at(faults: Iterable[FaultSpec]) -> frozenset[Point]:
    """Return the stop points at which some faults stop a client."""
    aimed = (fault for fault in faults if begins_at_stop_point(fault) or aims_at_hazards(fault))
    return frozenset(point for fault in aimed for point in _points(fault))


def plan_of(target: Target, faults: Sequence[FaultSpec], seed: int) -> tuple[PlannedFault, ...]:
    """Return the plan that a seed gives for some faults of a target."""
    table = hazard_table(target, faults) or HazardTable()
    return plan(faults, seed, target.lock.ttl, target.workload.duration, table.possible)


def overrides_for(name: str) -> tuple[str, ...]:
    """Return the changes of a target that aim all its faults at one hazard, which a valid run must then hit.

    Raises ConfigurationError if no fault can be aimed at it.
    """
    try:
        cell = Cell.named(name)
    except ValueError as error:
        raise ConfigurationError(f"--hazard {error}") from None
    fault, required = _aimed_at(cell), '{stale_writes_attempted = 0, hazards = "all"}'
    return (f"faults=[{fault}]", f"require={required}")


def check_aimed(name: str, targets: Iterable[Target]) -> None:
    """Raise ConfigurationError, with the reason, if a target rules out the hazard that it is aimed at."""
    cell = str(Cell.named(name))
    for target in targets:
        table = hazard_table(target, target.faults)
        if table is not None and cell not in table.possible:
            reasons = [why for why, cells in table.impossible.items() if cell in _all_of(cells)]
            raise ConfigurationError(f"{target.name}: --hazard {cell} cannot happen: {'; '.join(reasons)}")


def _aimed_at(cell: Cell) -> str:
    """Return the fault that aims at a cell; ConfigurationError if none can."""
    is_of_holder = cell.hit is Hit.HOLDER
    until = next((f'until = "{until}"' for until, end in ENDS.items() if end is cell.end), _SHORT)
    if is_of_holder and cell.fate is Fate.DELAYED and cell.point in _HELD_BACK_AT:
        return f'{{kind = "delay", target = "holder", to = "both", at = "{cell.point}", {until}}}'
    if is_of_holder and cell.fate is Fate.LOST and cell.end is End.SUPERSEDED:
        return f'{{kind = "kill", target = "holder", at = "{cell.point}"}}'
    if is_of_holder and cell.fate is Fate.LOST:
        return f'{{kind = "partition", target = "holder", from = "both", at = "{cell.point}", {until}}}'
    leader = cell.hit is Hit.LOCK and cell.end in (End.REGRANTED, End.SUPERSEDED)
    target = f"{cell.hit}{LEADER}" if leader else str(cell.hit)
    if cell not in of_pauses(target):
        raise ConfigurationError(f"--hazard {cell}: no fault can be aimed at it: {_why_unaimed(cell)}")
    return f'{{kind = "pause", target = "{target}", hazards = ["{cell}"]}}'


_HELD_BACK_AT = (Point.GRANTED, Point.ACQUIRED, Point.BEFORE_WRITE, Point.BEFORE_RELEASE)


def _why_unaimed(cell: Cell) -> str:
    """Say why no fault begins at a stop point, and does that to messages."""
    if cell.hit is Hit.WAITER:
        return "what a waiter sends is held back or lost only at moments drawn from the seed"
    if cell.hit is not Hit.HOLDER:
        if cell.fate is Fate.DELIVERED:
            return "stopped servers hold messages back until the fault ends"
        return "servers that were killed or cut off are back when they can, at no moment of the lock"
    return f'a message is held back from before it is sent: give before-write in place of "{cell.point}"'


def _all_of(names: Iterable[str]) -> set[str]:
    """Return the cells that these names of a table cover; `*` is every point or end."""
    return {str(cell) for name in names for cell in _GROUPS.get(name, ())} | set(names)


def _problems(
    fault: FaultSpec, cell: Cell, target: Target, unreached: AbstractSet[Point]
) -> Iterator[Problem]:
    if cell.fate is not fate_of(fault.kind, fault.target, cell.end):
        yield 1, f"no fault of this target {_TREATS[cell.fate]}"
    elif cell.point not in _points(fault):
        yield 2, f"no fault of this target begins {POINTS[cell.point]}"
    elif (reason := _never_ends(fault, cell.end, target)) is not None:
        yield 3, reason
    elif (reason := _never_happens(fault, cell, target)) is not None:
        yield 4, reason
    elif cell.point in unreached and cell.point in points_aimed_at([fault]):
        yield 5, why_unreached(cell.point)


_WHOM = {
    Hit.HOLDER: "a holder",
    Hit.WAITER: "a client that waits for the lock",
    Hit.LOCK: "the lock service",
    Hit.STORAGE: "the storage",
}
_TREATS = {
    Fate.DELIVERED: "lets messages through for so long",
    Fate.DELAYED: "holds messages back",
    Fate.LOST: "loses messages",
}


def _hits(fault: FaultSpec, target: Target) -> Iterator[Hit]:
    if fault.target == WAITER:
        yield Hit.WAITER
        return
    if not hits_servers(fault):
        yield Hit.HOLDER
        if fault.target.startswith("client:") and fault.at is None:
            yield Hit.WAITER
        return
    servers = servers_hit(fault.aim(), target.sides)
    if not set(servers).isdisjoint(target.lock.servers):
        yield Hit.LOCK
    if not set(servers).isdisjoint(target.storage_servers):
        yield Hit.STORAGE


def _points(fault: FaultSpec) -> Iterable[Point]:
    if aims_at_hazards(fault):
        return {cell.point for cell in fault.cells}
    if fault.at is None:
        return Point
    return (Point.BEFORE_WRITE,) if fault.at == "list-read" else (Point(fault.at),)


def _never_ends(fault: FaultSpec, end: End, target: Target) -> str | None:
    """Say why a fault never ends so; None if it may."""
    if aims_at_hazards(fault):
        return None if any(cell.end is end for cell in fault.cells) else _NEVER_THEN
    until = getattr(fault, "until", None)
    if until is not None and end is not ENDS[until]:
        return _NEVER_THEN
    if Trait.KILLS in fault.traits and not hits_servers(fault):
        return None if end is End.SUPERSEDED else "a killed client does not go on"
    lasts = getattr(fault, "lasts", None)
    if lasts is None or hits_servers(fault):
        return None
    ns, ttl = lasts.resolve(target.lock.ttl), target.lock.ttl
    stops_renewals = _stops_renewals(fault, target)
    # May a client that is hit give the lock back meanwhile, so that another client is granted it?
    lets_release = getattr(fault, "direction", None) == "to-client" or not stops_renewals
    if end is not End.BEFORE_EXPIRY and ns <= ttl - ttl // _RENEWALS and not lets_release:
        return "its faults are shorter than what is left of any lease"
    if end is End.BEFORE_EXPIRY and ns >= ttl and stops_renewals:
        return "its faults last longer than any lease"
    return None


def _stops_renewals(fault: FaultSpec, target: Target) -> bool:
    if Trait.FREEZES in fault.traits:
        return True
    return not set(servers_hit(fault.aim(), target.sides)).isdisjoint(target.lock.servers)


def _never_happens(fault: FaultSpec, cell: Cell, target: Target) -> str | None:
    """Say why the lock service or the storage rules a cell out; None if neither does."""
    if aims_at_hazards(fault) and (reason := _never_aimed(fault, cell, target)) is not None:
        return reason
    if cell.point is Point.RENEWING and cell.hit is Hit.HOLDER and "lock" in target.program_sides:
        return "the client program renews leases by itself"
    if cell.point is Point.GRANTED and "lock" not in target.program_sides and target.lock.complete_at_once:
        return f"with {target.lock.complete_at_once} the answer that grants the lock has its token"
    stopped = hits_servers(fault) and Trait.FREEZES in fault.traits and not fault.target.endswith(LEADER)
    servers = set(servers_hit(fault.aim(), target.sides)) if stopped else set()
    if servers >= set(target.lock.servers) and stopped and cell.end in (End.REGRANTED, End.SUPERSEDED):
        return "a lock service that is stopped grants nothing"
    if servers >= set(target.storage_servers) and stopped and cell.end is End.SUPERSEDED:
        return "a storage that is stopped accepts nothing"
    holds_the_row = cell.point is Point.WRITE_SENT and cell.end is End.SUPERSEDED and cell.hit is Hit.HOLDER
    if holds_the_row and Trait.FREEZES in fault.traits and not target.storage.writes_in_one_message:
        return f'with storage.fencing "{target.storage.fencing}" a stopped writer locks out all others'
    return None


def _never_aimed(fault: PauseSpec, cell: Cell, target: Target) -> str | None:
    """Say why a fault that aims at hazards does not come to a cell; None if it may."""
    if cell not in fault.cells:
        return "no fault of this target aims at it"
    if cell.end is End.EXPIRED and cell.hit in (Hit.WAITER, Hit.STORAGE):
        return "a holder that goes on renews its lease"
    writes_next = target.workload.kind == "register" and not target.storage.fence_on_acquire
    if cell.point is Point.ACQUIRED and cell.hit is not Hit.HOLDER and writes_next:
        return "a holder in the workload register writes next"
    return None


def _shortened(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield names for cells; `*` is every point or end, if none of them is missing."""
    left = set(cells)
    for pattern, group in _GROUPS.items():
        if left.issuperset(group):
            left -= group
            yield pattern
    yield from (str(cell) for cell in cells if cell in left)


def _groups() -> Iterator[tuple[str, Cell]]:
    """Yield each cell under every pattern that covers it, the widest patterns first."""
    yield from ((f"*/*/{cell.hit}", cell) for cell in CELLS)
    yield from ((f"*/*/{cell.hit}/{cell.fate}", cell) for cell in CELLS)
    yield from ((f"{cell.point}/*/{cell.hit}/{cell.fate}", cell) for cell in CELLS)
    yield from ((f"*/{cell.end}/{cell.hit}/{cell.fate}", cell) for cell in CELLS)


_GROUPS: dict[str, set[Cell]] = defaultdict(set)
for _pattern, _cell in _groups():
    _GROUPS[_pattern].add(_cell)

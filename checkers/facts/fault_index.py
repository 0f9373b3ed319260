"""The faults of a run by whom they hit, to find those of one moment among many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from heapq import merge

from checkers.history.faults import Fault, Faults, client_of
from checkers.history.records import Header, Op

_SERVER = "a server"
_LOCK = "a server of the lock"


class FaultIndex:
    """The faults of a run.

    One that names a hold hits that hold alone; of the others, one on a client hits that client, and
    one on a server hits everybody.
    """

    def __init__(self, faults: Sequence[Fault], header: Header) -> None:
        self._faults = faults
        self._header = header
        places: dict[Hashable, list[int]] = defaultdict(list)
        for place, fault in enumerate(faults):
            places[_hit_by(fault)].append(place)
            if fault.target.partition(":")[0] == "lock":
                places[_LOCK].append(place)
        self._groups = {key: (own, Faults([faults[place] for place in own])) for key, own in places.items()}

    def first_on_holder(self, op: Op, grant: Op | None, start: float, end: float) -> Fault | None:
        """The first that hit the holder behind an operation between two moments."""
        places = self._each_first((*self._keys(op, grant), _SERVER), start, end)
        first = min(places, default=None)
        return None if first is None else self._faults[first]

    def first_on_lock(self, start: float, end: float) -> Fault | None:
        """The first on the lock service between two moments."""
        first = min(self._each_first((_LOCK,), start, end), default=None)
        return None if first is None else self._faults[first]

    def on_holder_or_lock(self, op: Op, grant: Op, start: float, end: float) -> Iterator[Fault]:
        """Those on the client of a holder, and on the lock service, between two moments."""
        groups = (self._groups[key] for key in (*self._keys(op, grant), _LOCK) if key in self._groups)
        last = -1
        for place in merge(*(_places(own, faults.places_between(start, end)) for own, faults in groups)):
            fault = self._faults[place]
            if place != last and (fault.client is not None or fault.target.partition(":")[0] == "lock"):
                yield fault
            last = place

    def _keys(self, op: Op, grant: Op | None) -> tuple[Hashable, ...]:
        of_hold = () if grant is None or grant.owner is None else (("owner", grant.owner),)
        return (*of_hold, ("client", client_of(op.process, self._header)))

    def _each_first(self, keys: Iterable[Hashable], start: float, end: float) -> Iterator[int]:
        for own, faults in (self._groups[key] for key in keys if key in self._groups):
            place = next(faults.places_between(start, end), None)
            if place is not None:
                yield own[place]


def _places(own: Sequence[int], among_own: Iterable[int]) -> Iterator[int]:
    return (own[place] for place in among_own)


def _hit_by(fault: Fault) -> Hashable:
    if fault.owner is not None:
        return "owner", fault.owner
    return _SERVER if fault.client is None else ("client", fault.client)

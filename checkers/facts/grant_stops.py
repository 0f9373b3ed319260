"""Stops between a grant and its answer: the client knew of its hold, but not yet of its token."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from checkers.history.faults import Fault
from checkers.history.records import Op


class GrantStops:
    """The faults of a run that stopped a client at `granted`, by the hold that each names."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self._stops: dict[tuple[str | None, str], list[Fault]] = defaultdict(list)
        for fault in faults:
            if fault.at == "granted" and fault.owner is not None:
                self._stops[fault.resource, fault.owner].append(fault)

    def of(self, grant: Op) -> Iterator[Fault]:
        """Yield the faults that stopped a client inside this acquire, in the order in which they began."""
        if grant.owner is None:
            return
        stops = self._stops.get((grant.resource, grant.owner), ())
        yield from (fault for fault in stops if fault.overlaps(grant.called, grant.over))

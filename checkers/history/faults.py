"""The faults of a history, each from when it was seen in force until it was seen healed."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from checkers.history.columns import NEVER
from checkers.history.memoized import of_the_last
from checkers.history.ranges import Above
from checkers.history.records import FaultEvent, Header, Op
from checkers.vocabulary.fault_kinds import FaultKind, words_of

_LONGEST = 18  # digits of a client's number


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault that was observed."""

    kind: str  # pause partition …
    target: str  # client:0 …
    began: int  # ns
    healed: float  # ns; infinity if it was never seen healed
    owner: str | None  # of the hold that was hit, if the nemesis named it
    resource: str | None
    lines: tuple[int, ...]
    words: FaultKind
    at: str | None = None  # the stop point at which the client that was hit had stopped itself
    left_behind: tuple[int, ...] = ()  # the clients that still reach the old primary

    @property
    def is_death(self) -> bool:
        """Is it the kill of a client? A killed client is not restarted."""
        return self.kind == "kill" and self.client is not None

    @property
    def gone(self) -> float:
        """When the process of the client that it hit had ended, in ns; infinity if it may not have.

        A client that is stopped goes on until its process has ended, and the next one is ready.
        """
        if self.client is None:
            return math.inf
        return {"kill": self.began, "stop": self.healed}.get(self.kind, math.inf)

    @property
    def client(self) -> int | None:
        """The number of the client that was hit; None if it hit something else."""
        kind, _, number = self.target.partition(":")
        is_number = number.isascii() and number.isdecimal() and len(number) <= _LONGEST
        return int(number) if kind == "client" and is_number else None

    def overlaps(self, start: float, end: float) -> bool:
        """Was it in force at some moment in `[start, end]`?"""
        return self.began <= end and start <= self.healed


class Faults:
    """Faults sorted by when they began, for queries about intervals of time."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._faults = faults
        self.began = [fault.began for fault in faults]
        self.healed_by_then = list(accumulate((fault.healed for fault in faults), max))  # the last up to each

    def __len__(self) -> int:
        return len(self._faults)

    def __getitem__(self, at: int) -> Fault:
        return self._faults[at]

    def first_between(self, start: float, end: float) -> Fault | None:
        """Return the first fault that was in force at some moment in `[start, end]`."""
        first = next(self.places_between(start, end), None)
        return None if first is None else self[first]

    def places_between(self, start: float, end: float) -> Iterator[int]:
        """Yield the places of the faults that were in force at some moment in `[start, end]`, in order."""
        place: int | None = bisect_left(self.healed_by_then, start)  # all earlier ones had healed by then
        while place is not None and place < len(self) and self._faults[place].began <= end:
            yield place
            place = self._healed.first((start - 1,), place + 1)

    @cached_property
    def _healed(self) -> Above:
        return Above(np.array([min(fault.healed, NEVER) for fault in self._faults], dtype=np.int64))


@of_the_last
def faults_of(events: Sequence[FaultEvent]) -> Sequence[Fault]:
    """Join each "in force" with the next "healed" of the same kind and target."""
    faults: list[Fault] = []
    in_force: dict[tuple[str, str], deque[FaultEvent]] = defaultdict(deque)
    for event in events:
        running = in_force[event.kind, event.target]
        if event.state == "in force":
            running.append(event)
        elif running:
            faults.append(_fault(running.popleft(), event))
    faults.extend(_fault(event, None) for running in in_force.values() for event in running)
    return sorted(faults, key=lambda fault: fault.began)


def _fault(began: FaultEvent, healed: FaultEvent | None) -> Fault:
    return Fault(
        kind=began.kind,
        target=began.target,
        began=began.time,
        healed=math.inf if healed is None else healed.time,
        owner=began.owner,
        resource=began.resource,
        lines=(began.line,) if healed is None else (began.line, healed.line),
        words=words_of(began.kind, began.words),
        at=began.at,
        left_behind=began.left_behind,
    )


def client_of(process: int, header: Header) -> int:
    """Return the client that runs under this process number."""
    return process if header.clients is None else process % header.clients


def gone_at(header: Header, faults: Iterable[Fault]) -> Callable[[Op], float]:
    """Return a function from an operation to when the process that called it had ended: ns, or infinity."""
    ends: dict[int | None, list[float]] = defaultdict(list)  # by client
    for fault in faults:
        if fault.gone < math.inf and header.clients is not None:
            insort(ends[fault.client], fault.gone)

    def gone(op: Op) -> float:
        own = ends.get(client_of(op.process, header), ())
        after = bisect_left(own, op.called)
        return own[after] if after < len(own) else math.inf

    return gone

"""Does the storage's own order agree with real time, and with the reads and rejections?

The log fixes the place of every write and fence, and a read comes after the write whose
value it returned and before the next one. So the clients' history is explained iff no
operation had returned before the call of another one at a lower place. One sweep, in the
order of the calls, checks this: `reached` is the highest place that the log had certainly
reached by then.

- A write was stored when its ok returned, so the log had reached its first place. None of its
  places (it may be logged twice) had been passed when it was called.
- A read goes after the lowest place of its value that had not been replaced. A value that
  was logged twice can be read after either, and the lowest leaves the most room to others.
- If fences are logged, the log had reached the first one with the token of an acknowledged
  fence. If it has none with that token, because the storage logs only fences that raise the
  mark, the acknowledged fence shows that the mark was at its token.
- A fenced write that was refused says the same of the lowest token that refuses it. If only
  that contradicts a read, either the refusal was false or the read was stale.

Each of these puts an operation into a stretch of the log, so the sweep is exact.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence
from checkers.history.commit_log import Entry
from checkers.history.memoized import memoized
from checkers.history.records import WRITES, Header, Op, Outcome, Value
from checkers.rules.non_linearizable.commit_order import AGAINST_THE_LOG
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from tests.support.object_log import object_log

START = -1
"""The place of the initial value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOrder:
    """The log of one resource; its places are counted from 0."""

    entries: Sequence[Entry]
    operations: Sequence[Op]  # the writes, reads and fences of the clients, in the order of their calls
    header: Header
    has_fences: bool  # does the storage log them?
    logged: frozenset[int]  # indexes of the logged operations
    fences: Mapping[int | None, int]  # the first place of a fence with each token
    misplaced: frozenset[int]  # indexes of writes and fences that were sent too late for their place
    conflicts: Sequence[Conflict]
    marks: Sequence[float]  # the highest token up to each place
    called: Sequence[float]  # ns; when all up to each place had been called
    starts: Sequence[float]  # ns; the same, but for the misplaced

    def place_of_mark(self, token: int) -> int | None:
        """The first place at which the mark was at a token or above; None: it never was."""
        if self.header.initial_token >= token:
            return START
        place = bisect_left(self.marks, token)
        return None if place == len(self.marks) else place

    def start(self, place: int) -> float:
        """When the log can have got to a place at the earliest, in ns."""
        return -math.inf if place == START else self.starts[place]

    def contradictions(self, refused: Iterable[tuple[int, int]]) -> Iterator[Conflict]:
        """What is wrong only because of refusals: by their indexes, the places that the log had got to."""
        refused = list(refused)
        if refused:
            alone = {conflict.accused.index for conflict in self.conflicts}
            found = _Sweep(order=self, refused=dict(refused)).conflicts()
            yield from (each for each in found if each.accused.index not in alone)

    def was_fenced(self, fence: Op) -> int | None:
        """The place that the log had got to when a fence was acknowledged; None if it lacks the fence."""
        if fence.token is None or fence.returned is None:
            return None
        if fence.token in self.fences:
            return self.fences[fence.token]
        place = self.place_of_mark(fence.token)
        if place is None or place == START or self.called[place] <= fence.returned:
            return place
        return None


@memoized
def orders(evidence: Evidence) -> Mapping[str, LogOrder]:
    """The order of each resource that clients used or that the log names; nothing without a log."""
    log = object_log(evidence)
    if log is None:
        return {}
    operations = evidence.by_resource(*WRITES, "read", "fence")
    return {
        resource: _order(
            log.of_resource.get(resource, ()),
            operations.get(resource, ()),
            evidence.history.header,
            has_fences=log.has_fences,
        )
        for resource in dict.fromkeys((*operations, *log.of_resource))
    }


def against_the_log(evidence: Evidence) -> Sequence[Conflict]:
    """Operations that come too late for their place in the storage's own order."""
    return [conflict for order in orders(evidence).values() for conflict in order.conflicts]


def _order(
    entries: Sequence[Entry], operations: Sequence[Op], header: Header, *, has_fences: bool
) -> LogOrder:
    tokens = (-math.inf if entry.token is None else entry.token for entry in entries)
    marks = list(accumulate(tokens, max))
    order = LogOrder(
        entries=entries,
        operations=operations,
        header=header,
        has_fences=has_fences,
        logged=frozenset(entry.op.index for entry in entries),
        fences={
            each.commit.token: place
            for place, each in reversed(list(enumerate(entries)))
            if each.commit.fence
        },
        misplaced=frozenset(),
        conflicts=(),
        marks=marks,
        called=list(accumulate(map(_called, entries), max)),
        starts=(),
    )
    conflicts = list(_Sweep(order=order).conflicts())
    misplaced = frozenset(each.accused.index for each in conflicts if each.accused.f != "read")
    starts = (-math.inf if each.op.index in misplaced else _called(each) for each in entries)
    return replace(order, conflicts=conflicts, misplaced=misplaced, starts=list(accumulate(starts, max)))


def _called(entry: Entry) -> float:
    """When a commit can have been made at the earliest, as far as its own call says."""
    return -math.inf if entry.is_unrecorded else entry.op.called


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reached:
    """A place that the log had got to, and how that is known."""

    place: int
    by: Op | None = None
    refused: Op | None = None  # the refusal without which it would not be known


class _Sweep:
    """Puts one operation after the other, by their calls."""

    def __init__(self, *, order: LogOrder, refused: Mapping[int, int] | None = None) -> None:
        self._order = order
        self._entries = order.entries
        self._refused = refused or {}
        self._fences = order.has_fences and order.header.fenced
        self._returns: list[tuple[float, int, _Reached]] = []
        self._reached = _Reached(place=START)
        self._places: dict[int, list[int]] = defaultdict(list)
        self._values: dict[Value, list[int]] = defaultdict(list)
        for place, entry in enumerate(order.entries):
            self._places[entry.op.index].append(place)
            if not entry.commit.fence:
                self._values[entry.commit.value].append(place)
        self._next = _next_writes(order.entries)

    def conflicts(self) -> Iterator[Conflict]:
        """The operations that were called too late for their place."""
        operations = self._order.operations
        written = {op.value: op for op in operations if op.f in WRITES}
        for op in operations:
            self._go_on_to(op.called)
            if op.f == "read":
                if op.outcome is Outcome.OK:
                    yield from self._read(op, written.get(op.value))
            elif op.index in self._refused:
                self._returned(op, _Reached(place=self._refused[op.index], by=op, refused=op))
            else:
                yield from self._stored(op)

    def _go_on_to(self, moment: float) -> None:
        while self._returns and self._returns[0][0] < moment:
            _, _, found = heapq.heappop(self._returns)
            if found.place > self._reached.place:
                self._reached = found

    def _returned(self, op: Op, reached: _Reached) -> None:
        if op.returned is not None:
            heapq.heappush(self._returns, (op.returned, op.index, reached))

    def _stored(self, op: Op) -> Iterator[Conflict]:
        """A write or a fence, which may have no place."""
        places = self._places.get(op.index, ())
        if places and places[0] < self._reached.place:
            yield self._conflict(self._entries[places[0]].op, ())
        if op.outcome is not Outcome.OK:
            return
        place = self._order.was_fenced(op) if op.f == "fence" and self._fences else None
        if op.f != "fence" and places:
            place = places[0]
        if place is not None:
            self._returned(op, _Reached(place=place, by=op))

    def _read(self, read: Op, write: Op | None) -> Iterator[Conflict]:
        places = self._places_of_read(read, write)
        if not places:
            return  # what it returned, the log does not have: that is another finding
        place = next((each for each in places if self._next[each + 1] > self._reached.place), None)
        refused = None
        if place is None:
            yield self._wrong_read(read, places[-1])
            place = places[0]
        elif place != places[0]:
            refused = self._reached.refused
        self._returned(read, _Reached(place=place, by=read, refused=refused))

    def _places_of_read(self, read: Op, write: Op | None) -> Sequence[int]:
        """The places of the value that a read returned, with the token that it returned."""
        places: Sequence[int] = self._values.get(read.value, ())
        if write is not None and read.precedes(write):
            return ()
        tokens = {self._entries[place].token for place in places}
        if write is not None:
            tokens.add(write.token)
        elif not places:
            tokens = {self._order.header.initial_token}
            places = (START,) if read.value == self._order.header.initial_value else ()
        return places if read.token is None or not tokens.isdisjoint({None, read.token}) else ()

    def _wrong_read(self, read: Op, place: int) -> Conflict:
        """A read after a place that another write had replaced; a stale-read if one of those was newer."""
        header, own = self._order.header, None if place == START else self._entries[place]
        token = header.initial_token if own is None else own.token
        passed = [
            each for each in self._entries[place + 1 : self._reached.place + 1] if not each.commit.fence
        ]
        newer = (each for each in passed if each.token is not None and (token is None or each.token > token))
        first_newer = next(newer, None)
        return self._conflict(
            read,
            [each.op for each in (own, first_newer, passed[0]) if each is not None],
            anomaly="non-linearizable" if first_newer is None else "stale-read",
        )

    def _conflict(self, op: Op, shown: Sequence[Op], anomaly: str = "non-linearizable") -> Conflict:
        reached = self._reached
        if reached.refused is not None:
            return Conflict(
                anomaly="non-linearizable", breach=FALSE_OR_STALE, accused=op, because=(reached.refused,)
            )
        later = self._entries[reached.place].op
        by = () if reached.by is None else (reached.by,)
        return Conflict(
            anomaly=anomaly,
            breach=AGAINST_THE_LOG,
            accused=op,
            because=tuple({each.index: each for each in (*shown, later, *by)}.values()),
        )


def _next_writes(entries: Sequence[Entry]) -> list[int]:
    """The place of the next write, from the start and from each place on."""
    following = [len(entries)]
    for place in range(len(entries) - 1, -1, -1):
        following.append(following[-1] if entries[place].commit.fence else place)
    return following[::-1]

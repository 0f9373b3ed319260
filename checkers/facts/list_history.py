"""The history of one list: who appended each element, when it was known, what each append had read."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from checkers.facts.evidence import Evidence
from checkers.facts.hold_order import came_before, hold_order
from checkers.facts.shown_appends import shown_appends
from checkers.history.records import WRITES, Element, Header, List, Op, Outcome, Value


def lists_of(evidence: Evidence) -> Iterator[Lists]:
    """Yield the lists of the resources with appends and no other writes."""
    if next(evidence.named("append"), None) is None:
        return
    holds, shown = hold_order(evidence), shown_appends(evidence)
    for resource, operations in evidence.by_resource(*WRITES, "read").items():
        appends = [op for op in operations if op.f == "append"]
        is_mixed = any(op.f == "write" and op.outcome is not Outcome.FAIL for op in operations)
        if appends and not is_mixed:
            yield Lists(
                resource=resource,
                header=evidence.history.header,
                appends=appends,
                readings=[(op, found_by(op)) for op in operations if _is_reading(op)],
                grants={op.index: grant for op in appends if (grant := holds.grant_behind(op)) is not None},
                found_by=shown.by,
            )


def _is_reading(op: Op) -> bool:
    return op.seen is not None if op.f == "append" else op.f == "read" and op.outcome is Outcome.OK


Step = tuple[Op, List]
"""An append, and the list that it had read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The first proof that an element had been in the list."""

    time: float  # ns
    by: Op


@dataclass(frozen=True, kw_only=True)
class Lists:
    """What one resource held, as its readers and writers saw it."""

    resource: str
    header: Header
    appends: Sequence[Op]
    readings: Sequence[tuple[Op, List]]  # reads and appends, each with the list it read; by call
    grants: Mapping[int, Op]  # of the holds without tokens, by the index of the append
    found_by: Mapping[int, Op] = field(default_factory=dict)  # the first reader of each append's element

    def asked(self, append: Op) -> int:
        """Return when the hold of an append was asked for, in ns; if that is unknown, when it was called."""
        return self.grants[append.index].sent if append.index in self.grants else append.called

    @cached_property
    def appender(self) -> Mapping[Element, Op]:
        """The append of each element."""
        return {op.element: op for op in self.appends if op.element is not None}

    @cached_property
    def known(self) -> Mapping[Element, Known]:
        """The first proof of each appended element, the earliest first."""
        known: dict[Element, Known] = {}
        for time, op, shown in sorted(self._proofs(), key=lambda proof: proof[0]):
            for element in shown:
                if element not in known and element in self.appender:
                    known[element] = Known(time=time, by=op)
        return known

    def _proofs(self) -> Iterator[tuple[int, Op, List]]:
        for op in self.appends:
            if op.outcome is Outcome.OK and op.returned is not None and op.element is not None:
                yield op.returned, op, (op.element,)
        seen: dict[List, int] = {}
        for op, shown in self.readings:
            if op.learned is not None and op.learned < seen.get(shown, math.inf):
                seen[shown] = op.learned
                yield op.learned, op, shown

    @cached_property
    def writer(self) -> Mapping[List, Op]:
        """The append that wrote each list."""
        return {op.value: op for op in self.appends if isinstance(op.value, tuple)}

    @cached_property
    def shown_by(self) -> Mapping[List, Op]:
        """The first reader of each list."""
        return {shown: op for op, shown in reversed(self.readings)}

    def built_on(self, append: Op) -> List | None:
        """Return the list that an append read: as it says, or else as shown by a reader of its list."""
        if append.seen is not None:
            return append.seen
        return as_list(append.value)[:-1] if self.shown(append) else None

    def shown(self, append: Op) -> tuple[Op, ...]:
        """Return a reader of the element of an append that does not say which list it had read."""
        by = self.shown_by.get(as_list(append.value)) or self.found_by.get(append.index)
        return () if append.seen is not None or by is None else (by,)

    @cached_property
    def left_out(self) -> Mapping[int, AbstractSet[Element]]:
        """The elements that each append, by its index, had read and did not write back."""
        return {
            op.index: set(op.seen).difference(op.value)
            for op in self.appends
            if op.seen is not None and isinstance(op.value, tuple)
        }

    def way_back(self, found: List, lost: Op, known: Known) -> Iterator[Op]:
        """Yield the appends back from a list that lacks an element, up to the one accused of dropping it."""
        for op, built_on in self.back(found):
            own = None if lost.seen is None else self._step(lost.seen)
            if self._ancestry.leads_to(own, (op, built_on)) or self._came_before(op, lost, known):
                return
            yield op
            if lost.element in self.left_out.get(op.index, ()):
                return

    def explains(self, way: Sequence[Op], lost: Op, known: float) -> bool:
        """Can a late write explain that one of the appends on the way back dropped the element?

        An append that had read the element and left it out dropped it without any late write.
        """
        has_left_out = any(lost.element in self.left_out.get(op.index, ()) for op in way)
        return not has_left_out and any(self._overwrites(op, lost, known) for op in way)

    def _overwrites(self, op: Op, lost: Op, known: float) -> bool:
        """Can an append have read before the lost element came, and rightly have written after that?"""
        if known < op.called:
            return False
        if op.index in self.grants and lost.index in self.grants:
            return not came_before(self.grants[op.index], self.grants[lost.index])
        if op.token is None or lost.token is None:
            return False
        return lost.token == op.token if self.header.fence_on_acquire else lost.token <= op.token

    def back(self, found: List) -> Iterator[Step]:
        """Yield the append that wrote a list, then the append that wrote the list it had read, and so on."""
        passed: set[int] = set()
        step = self._step(found)
        while step is not None and step[0].index not in passed:
            passed.add(step[0].index)
            yield step
            step = self._step(step[1])

    def _step(self, found: List) -> Step | None:
        """Return the append that wrote a list, and the list that it had read.

        If the append does not say what it read, assume everything before its own element.
        """
        op = self.writer.get(found)
        return None if op is None else (op, found[:-1] if op.seen is None else op.seen)

    @cached_property
    def _ancestry(self) -> Ancestry[Step]:
        """The way back from each list that an append had read."""
        starts = (self._step(op.seen) for op in self.appends if op.seen is not None)
        return Ancestry(
            (step for step in starts if step is not None),
            before=lambda step: self._step(step[1]),
            name=lambda step: (step[0].index, step[1]),
        )

    def _came_before(self, op: Op, lost: Op, known: Known) -> bool:
        if op.precedes(lost):
            return True
        if not self.header.fenced or op.token is None or lost.token is None:
            return False
        return op.token < lost.token and op.called <= known.time


def found_by(reader: Op) -> List:
    """Return the list that an operation read."""
    return as_list(reader.seen if reader.f == "append" else reader.value)


def as_list(value: Value) -> List:
    """Return a value as a list; any other value counts as an empty list."""
    return value if isinstance(value, tuple) else ()


T = TypeVar("T")


class Ancestry(Generic[T]):
    """The ancestors of some items, indexed so that each question takes constant time."""

    def __init__(
        self, starts: Iterable[T], *, before: Callable[[T], T | None], name: Callable[[T], Hashable]
    ) -> None:
        self._name = name
        self._circle: dict[Hashable, Hashable] = {}  # the item that represents each one's cycle
        below: dict[Hashable, list[Hashable]] = defaultdict(list)
        tops: list[Hashable] = []
        for start in starts:
            way: dict[Hashable, None] = {}
            thing: T | None = start
            while thing is not None and (own := name(thing)) not in self._circle and own not in way:
                way[own] = None
                thing = before(thing)
            names = list(way)
            above: Hashable | None = None
            if thing is not None and name(thing) in way:  # a new cycle
                circle = names[names.index(name(thing)) :]
                self._circle |= dict.fromkeys(circle, circle[0])
                names = names[: len(names) - len(circle)]
                above = circle[0]
                tops.append(above)
            elif thing is not None:
                above = self._circle[name(thing)]
            for own in reversed(names):
                self._circle[own] = own
                (tops if above is None else below[above]).append(own)
                above = own
        self._spans = _spans(tops, below)

    def leads_to(self, thing: T | None, other: T) -> bool:
        """Is the other item the first one itself, or one of its ancestors?"""
        found = None if thing is None else self._circle.get(self._name(thing))
        above = self._circle.get(self._name(other))
        if found is None or above is None:
            return False
        first, last = self._spans[above]
        return first <= self._spans[found][0] < last


def _spans(tops: list[Hashable], below: dict[Hashable, list[Hashable]]) -> dict[Hashable, tuple[int, int]]:
    """Number all items so that the items below each one have the numbers of one span."""
    first: dict[Hashable, int] = {}
    spans: dict[Hashable, tuple[int, int]] = {}
    left = [*tops]
    while left:
        thing = left[-1]
        if thing not in first:
            first[thing] = len(first)
            left += below.get(thing, ())
        else:
            left.pop()
            spans[thing] = first[thing], len(first)
    return spans

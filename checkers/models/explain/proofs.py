"""The smallest set of operations that no order explains, found by leaving out unnecessary ones.

Not everything may be left out: a read of a value whose write was left out is wrong by itself, and would prove
nothing about the whole history. An operation may be left out if none of the rest depends on it:

- calls after the answer that nothing explains; a call answered after it counts as open;
- reads, always: an order of all operations is also an order of the rest without a read;
- changes that none of the rest has seen. A model's operations say who sees what: a read of a register
  sees the value that it returned, a compare-and-set the one that it replaced. A read of the
  whole object, such as a set or a counter, depends on all its changes;
- a whole hold of a lock with owners, its acquire and its release; of another lock, a hold that
  overlaps nothing else in time.

So a set that is wrong by itself proves that the whole history is. The judge itself finds it: ever smaller
parts are left out, with all that depends on them, as long as no order explains the rest (Zeller and
Hildebrandt, "Simplifying and isolating failure-inducing input", 2002).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from checkers.formats.operations import QUESTIONS
from checkers.history.operation import NO_VALUE, Operation, expected_and_new, owner_of
from checkers.history.records import Outcome
from checkers.models.model_verdict import ModelVerdict
from checkers.vocabulary.verdict import Validity

Judge = Callable[[Sequence[Operation]], ModelVerdict]
WORK = 400_000  # the operations judged in total during the search for a smaller set: about a second
_STEPS = 2  # steps of the search that take as long as judging one operation by comparing pairs
_OWNED = frozenset({"owned-mutex", "fenced-mutex"})
_ALL_HOLDERS = -1  # in place of a lock's holders: a refused acquire depends on them
_EVERYTHING: Final[tuple[object]] = (NO_VALUE,)
"""The result of `_sees` for an answer that depends on every change."""


@dataclass(frozen=True, slots=True)
class OrderProof:
    """Operations of one object that no order explains."""

    positions: tuple[int, ...]  # in the history
    operations: tuple[Operation, ...]  # as far as they had got by then
    open: frozenset[int]  # of these, the ones whose answer came later or never, and does not count
    is_smallest: bool  # is it known that none of them can be left out?


def smallest(
    model: str, operations: Sequence[Operation], named: Sequence[int], until: int | None, judge: Judge
) -> OrderProof:
    """Return the smallest set found among the operations of one object.

    `named` are known to contradict each other; by the moment `until` (None: the end) no order explains them.
    """
    key = operations[named[-1]].key
    moment = math.inf if until is None else until
    about = [(position, op) for position, op in enumerate(operations) if op.key == key]
    by_then = {position: _by_then(op, moment) for position, op in about if _had_begun(op, moment)}
    ties = _Ties(model, by_then)
    search = _Search(by_then, ties, judge)
    for start in (ties.with_sources(named), sorted(by_then)):
        if search.is_wrong(start):
            positions = search.shrink(start)
            break
    else:
        positions, search.work = sorted(by_then), -1
    still_open = frozenset(each for each in positions if by_then[each].outcome is Outcome.INFO)
    kept = tuple(by_then[each] for each in positions)
    return OrderProof(tuple(positions), kept, still_open, is_smallest=search.work >= 0)


def _had_begun(op: Operation, until: float) -> bool:
    """Does it count by a moment? Questions and failures count once they are over, others once called."""
    if op.outcome is Outcome.FAIL or op.f in QUESTIONS:
        return _end(op) <= until
    return op.called <= until


def _by_then(op: Operation, until: float) -> Operation:
    return op if _end(op) <= until else replace(op, outcome=Outcome.INFO, returned=None)


class _Search:
    def __init__(self, operations: Mapping[int, Operation], ties: _Ties, judge: Judge) -> None:
        self.work = WORK
        self._operations = operations
        self._ties = ties
        self._judge = judge

    def is_wrong(self, positions: Sequence[int]) -> bool:
        judged = self._judge([self._operations[position] for position in positions])
        self.work -= len(positions) + judged.steps // _STEPS
        return judged.validity is Validity.INVALID

    def shrink(self, kept: list[int]) -> list[int]:
        parts = 2
        while len(kept) > 1 and self.work >= 0:
            size = -(-len(kept) // parts)
            smaller = self._smaller(kept, size)
            if smaller is not None:
                kept, parts = smaller, max(2, parts - 1)
            elif size == 1:
                break
            else:
                parts = min(len(kept), 2 * parts)
        return kept

    def _smaller(self, kept: list[int], size: int) -> list[int] | None:
        for start in range(0, len(kept), size):
            if self.work < 0:
                break
            rest = self._ties.without(kept[start : start + size], kept)
            self.work -= len(kept)
            if rest and self.is_wrong(rest):
                return rest
        return None


class _Ties:
    """Which operations depend on which others."""

    def __init__(self, model: str, operations: Mapping[int, Operation]) -> None:
        self._sources: dict[int, set[int]] = defaultdict(set)
        self._dependents: dict[int, set[int]] = defaultdict(set)
        is_lock = model.endswith("mutex")
        for dependent, source in _of_lock(model, operations) if is_lock else _of_values(model, operations):
            self._sources[dependent].add(source)
            self._dependents[source].add(dependent)

    def with_sources(self, named: Iterable[int]) -> list[int]:
        """Return these operations and all that they depend on."""
        return sorted(each for each in _reached(named, self._sources) if each >= 0)

    def without(self, left_out: Iterable[int], kept: Iterable[int]) -> list[int]:
        """Return the others, except dependents of one that is left out."""
        gone = _reached(left_out, self._dependents)
        return [position for position in kept if position not in gone]


def _reached(start: Iterable[int], edges: Mapping[int, AbstractSet[int]]) -> set[int]:
    found = new = set(start)
    while new:
        new = {each for one in new for each in edges.get(one, ())} - found
        found |= new
    return found


def _of_values(model: str, operations: Mapping[int, Operation]) -> Iterator[tuple[int, int]]:
    """Yield dependencies via values, numbered below 0: a reader needs its value, a value its changes."""
    grows = any(op.f == "append" for op in operations.values())  # then each get depends on all changes
    numbers: dict[tuple[object], int] = defaultdict(lambda: -1 - len(numbers))
    for position, op in operations.items():
        seen = _EVERYTHING if grows and op.f == "get" else _sees(model, op)
        if seen is not None:
            yield position, numbers[seen]
        if op.f not in QUESTIONS:
            yield numbers[_changes(op)], position
            yield numbers[_EVERYTHING], position


def _of_lock(model: str, operations: Mapping[int, Operation]) -> Iterator[tuple[int, int]]:
    """Yield each hold's dependencies for a lock with owners; else those of all but holds by themselves."""
    refused = [position for position, op in operations.items() if op.outcome is Outcome.FAIL]
    changes = {position: op for position, op in operations.items() if op.outcome is not Outcome.FAIL}
    if model in _OWNED:
        units = list(_owned(changes))
        held: Iterable[int] = changes
    else:
        units = list(_by_themselves(operations))
        held = changes.keys() - {position for unit in units for position in unit}
        units.append(list(held))
    for unit in units:
        yield from pairwise([*unit, *unit[:1]])
    for position in refused:  # its answer depends on the holder
        yield position, _ALL_HOLDERS
    for position in held:
        yield _ALL_HOLDERS, position


def _owned(operations: Mapping[int, Operation]) -> Iterator[list[int]]:
    """Yield the holds of each owner, or all its operations if it is uncertain which belong together."""
    by_owner: dict[Hashable, list[int]] = defaultdict(list)
    for position in sorted(operations, key=lambda each: operations[each].called):
        by_owner[owner_of(operations[position])].append(position)
    for own in by_owner.values():
        if all(operations[one].precedes(operations[other]) for one, other in pairwise(own)):
            yield from _split(own, operations)
        else:
            yield own


def _split(own: Sequence[int], operations: Mapping[int, Operation]) -> Iterator[list[int]]:
    unit: list[int] = []
    for position in own:
        unit.append(position)
        if operations[position].f == "release":
            yield unit
            unit = []
    if unit:
        yield unit


def _by_themselves(operations: Mapping[int, Operation]) -> Iterator[list[int]]:
    """Yield the holds that overlap nothing else in time."""
    order = sorted(operations, key=lambda each: operations[each].called)
    ended = -math.inf
    for place, (one, other) in enumerate(pairwise(order)):
        first, second = operations[one], operations[other]
        later = order[place + 2 : place + 3]
        begins = operations[later[0]].called if later else math.inf
        alone = ended < first.called and first.precedes(second) and _end(second) < begins
        if alone and _is_hold(first, second):
            yield [one, other]
        ended = max(ended, _end(first))


def _is_hold(first: Operation, second: Operation) -> bool:
    is_pair = (first.f, second.f) == ("acquire", "release") and owner_of(first) == owner_of(second)
    return is_pair and Outcome.FAIL not in {first.outcome, second.outcome}


def _end(op: Operation) -> float:
    return math.inf if op.returned is None else op.returned


def _sees(model: str, op: Operation) -> tuple[object] | None:
    """Return what an operation's answer depends on, as the only element of a tuple; None: on nothing."""
    match model, op.f:
        case (("register" | "cas-register" | "kv"), ("read" | "get")):
            return (op.output,)
        case "cas-register", "cas":
            return (op.output if op.outcome is Outcome.FAIL else expected_and_new(op.input)[0],)
        case "set", "contains":
            return (op.input,)
        case _, ("write" | "put" | "add" | "remove") if op.output is NO_VALUE:
            return None
    return _EVERYTHING


def _changes(op: Operation) -> tuple[object]:
    """Return what an operation puts there, in the form of `_sees`."""
    return (expected_and_new(op.input)[1] if op.f == "cas" else op.input,)

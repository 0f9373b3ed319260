"""The smallest set of operations that is wrong by itself.

A conflict names the operations that made a checker find it. They form a history of their own,
judged by the same checker. As long as the accused is still found to be wrong without one of the others,
that one is left out. So the rest is checked twice: it is wrong, and without any one of them it is not.

A read without the write whose value it returned would be wrong for another reason. So the two are
left out together, or only the read. The same applies to an append and the list that it read.

Many operations are not tried one by one if the rule knows that they form a chain. Without one of its
links the rest falls into two parts, and each part is also found without the first or the last link.
So as many links as possible are left out at both ends, which takes log n tries, and all others are needed.

A conflict about something that never happened, such as a rejection that no write can have caused, is wrong
also by itself. Its explanation has to show that nothing else in the history changes this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from checkers.explain.conflict import Checker, Conflict
from checkers.explain.shapes import conflicts_among, may_be_known
from checkers.facts.evidence import Evidence, gather, memoized_as_seen
from checkers.history.columns import Operations
from checkers.history.memoized import memoized
from checkers.history.records import WRITES, Op, Outcome, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Operations that are wrong by themselves, and are not without any one of them.

    If the work limit of the verdict's proofs is reached, there may be more than necessary.
    """

    operations: tuple[Op, ...]  # in the order of their calls
    conflict: Conflict  # as found among them alone
    is_smallest: bool  # False: the work limit came first


_MOST_WORK = 1_000_000  # operations judged again for all proofs of a verdict
_MOST_WORK_EACH = 30  # additional work for each operation of the run
_OF_A_TRY = 100  # judging nothing takes as long as judging this many operations
_OF_A_KNOWN_SHAPE = 5  # looking up a known shape takes as long as this
_MANY = 32  # from this many on, several are left out at once, and not all are tried again


@dataclass(slots=True)
class _Work:
    """The work left for the proofs of a verdict."""

    left: int


@memoized_as_seen
def work_of(evidence: Evidence) -> _Work:
    """Return the work left for all proofs of a verdict, with its log and without."""
    return _Work(_MOST_WORK + _MOST_WORK_EACH * len(evidence.history.operations))


def prove(evidence: Evidence, checker: Checker, conflict: Conflict, candidates: Iterable[Op]) -> Proof | None:
    """Return the smallest set of candidates that shows a conflict; None if even all of them do not."""
    operations, work = _in_order(candidates), work_of(evidence)
    if work.left <= 0:
        return Proof(operations=operations, conflict=conflict, is_smallest=False)
    found = _found(evidence, checker, conflict, operations)
    if found is None:
        return None
    known = _shows_its_run(evidence, operations)
    tries = _Tries(evidence, checker, conflict, known=known, shown=found)
    while (smaller := _smaller(tries, operations)) is not None:
        operations, found = smaller
    return Proof(operations=operations, conflict=found, is_smallest=work.left > 0)


def holds(evidence: Evidence, checker: Checker, conflict: Conflict, operations: Iterable[Op]) -> bool:
    """Does this conflict occur among these operations alone?"""
    found = _conflicts(evidence, checker, _in_order(operations))
    return any(each.breach is conflict.breach and _shows(each, conflict) for each in found)


def _shows(found: Conflict, conflict: Conflict) -> bool:
    is_breach = found.breach is conflict.breach or conflict.breach.needs is None
    return is_breach and found.accused.index == conflict.accused.index


def alone(evidence: Evidence, operations: Sequence[Op]) -> Evidence:
    """Return the same run, with its faults, as if its clients had done only these operations."""
    recorded = tuple(op for op in operations if op.lines)
    history = evidence.history
    began = min([*(op.called for op in recorded), *_first_fault(evidence)], default=0)
    history = replace(history, operations=recorded, started=began)
    if evidence.log is None:
        return gather(history)
    own = Operations.of(recorded, history.header.initial_value)
    log = evidence.log.only({op.index for op in operations}, own)
    return Evidence(history=replace(history, operations=own), log=log)


@memoized
def _first_fault(evidence: Evidence) -> tuple[int, ...]:
    """Return the time of the first nemesis event, if there is any."""
    return tuple(sorted(fault.time for fault in evidence.history.faults)[:1])


def without(operations: Sequence[Op], some: Sequence[Op]) -> tuple[Op, ...]:
    """Return the other operations, except reads of what one of `some` wrote."""
    left_out = {op.index for op in some}
    written = {(op.resource, op.value) for op in some if op.f in WRITES}
    return tuple(op for op in operations if op.index not in left_out and _read(op) not in written)


def _in_order(operations: Iterable[Op]) -> tuple[Op, ...]:
    first = {op.index: op for op in reversed([*operations])}
    return tuple(first[index] for index in sorted(first))


_Smaller = tuple[tuple[Op, ...], Conflict]
"""The rest after some operations are left out, and the conflict that it shows."""


class _Tries:
    """Successive tries to leave operations out of a conflict's proof.

    If the log was `known` to belong to these operations, it must still be. If all of them have `shown` the
    conflict itself, the rest must accuse the same operation, except that a pair may change places.
    """

    def __init__(
        self, evidence: Evidence, checker: Checker, conflict: Conflict, *, known: bool, shown: Conflict
    ) -> None:
        self._evidence, self._checker, self._conflict, self._known = evidence, checker, conflict, known
        self._is_same = not conflict.breach.is_pair and _shows(shown, conflict)
        self._work = work_of(evidence)

    @property
    def are_over(self) -> bool:
        """Is the work limit reached?"""
        return self._work.left <= 0

    def chain(self, operations: Sequence[Op]) -> Sequence[Op]:
        """Return the operations that the rule knows to be the links of a chain."""
        chain = self._conflict.breach.chain
        return chain(alone(self._evidence, operations)) if chain else ()

    def without(self, left: Sequence[Op], some: Sequence[Op]) -> _Smaller | None:
        """Return the rest if it shows the same; None if it does not, or if some of these are out already."""
        rest = without(left, some)
        if not rest or len(rest) == len(left) or self.are_over:
            return None
        found = _found(self._evidence, self._checker, self._conflict, rest)
        if found is None or (self._known and not _shows_its_run(self._evidence, rest)):
            return None
        if self._is_same and not _shows(found, self._conflict):
            return None
        return rest, found


def _smaller(tries: _Tries, operations: Sequence[Op]) -> _Smaller | None:
    """Return the rest after some are left out, and what it shows; None if all are needed.

    Many operations are tried once each. Few are tried until one can be left out; then all are tried again.
    """
    if len(operations) >= _MANY and (chain := tries.chain(operations)):
        return _shorter(tries, operations, chain)
    left, smaller = operations, None
    for some in _in_turn(operations):
        found = tries.without(left, some)
        if found is not None:
            left, _ = smaller = found
            if len(left) < _MANY:
                break
    return smaller


def _shorter(tries: _Tries, operations: Sequence[Op], chain: Sequence[Op]) -> _Smaller | None:
    """Do the same where some are the links of a chain: leave out as many as possible at both of its ends."""
    left, smaller = operations, None
    for links in (chain, chain[::-1]):
        first, size = 0, 1 << len(links).bit_length() >> 1
        while size:
            found = tries.without(left, links[first : first + size])
            if found is not None:
                left, _ = smaller = found
                first += size
            size //= 2
    linked = {op.index for op in chain}
    for one in left:
        if one.index not in linked and (found := tries.without(left, (one,))) is not None:
            left, _ = smaller = found
    return smaller


def _in_turn(operations: Sequence[Op]) -> Iterator[Sequence[Op]]:
    """Yield the operations to leave out next; reads first, since they explain the least.

    Many operations are left out by halves, then quarters, and so on: most are not needed.
    """
    size = len(operations) // 2
    while size >= _MANY:
        for first in range(0, len(operations), size):
            yield operations[first : first + size]
        size //= 2
    for one in sorted(operations, key=lambda op: op.f != "read"):
        yield (one,)


def _found(
    evidence: Evidence, checker: Checker, conflict: Conflict, operations: Sequence[Op]
) -> Conflict | None:
    """Return the same anomaly on the same resource, if these show it; preferably of the accused."""
    same = [
        each
        for each in _conflicts(evidence, checker, operations)
        if (each.anomaly, each.accused.resource) == (conflict.anomaly, conflict.accused.resource)
    ]
    own = (each for each in same if each.accused.index == conflict.accused.index)
    return next(own, same[0] if same else None)


def _conflicts(evidence: Evidence, checker: Checker, operations: Sequence[Op]) -> Sequence[Conflict]:
    by_shape = may_be_known(evidence, checker)
    work_of(evidence).left -= len(operations) + (_OF_A_KNOWN_SHAPE if by_shape else _OF_A_TRY)
    return conflicts_among(evidence, alone(evidence, operations), checker)


def _shows_its_run(evidence: Evidence, operations: Sequence[Op]) -> bool:
    """Does something in the log fit these operations, so that it is known to belong to their run?"""
    entries = [] if evidence.log is None else evidence.log.entries_of({op.index for op in operations})
    return not entries or any(entry.fits for entry in entries)


def _read(op: Op) -> tuple[str, Value] | None:
    """Return the resource and the written value that an operation returned."""
    if op.f == "append":
        return None if op.seen is None else (op.resource, op.seen)
    return (op.resource, op.value) if op.f == "read" and op.outcome is Outcome.OK else None

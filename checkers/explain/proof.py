"""The smallest set of operations that is wrong by itself.

A conflict names the operations that made a checker see it. They are put into a
history of their own, judged by the same checker, and as long as one can be left out
and the anomaly is still found, it is left out. So what remains is checked twice: it is
wrong, and without any one of its operations it is not.

A read cannot stand without the write whose value it returned: it would be wrong for
another reason. So the two are left out together, or only the read. The same holds for an append
and the list that it read.

What is wrong because of something that never happened, such as a rejection that no
write can have caused, is wrong also by itself; that nothing else in the history
changes this is up to its explanation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from checkers.checker import Checker
from checkers.conflict import Conflict
from checkers.evidence import Evidence, gather, log_of
from checkers.explain.shapes import conflicts_among
from checkers.history.records import WRITES, Op, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Operations that are wrong by themselves, and without any one of them no more."""

    operations: tuple[Op, ...]  # in the order of their calls
    conflict: Conflict  # as it is found among them alone


def prove(evidence: Evidence, checker: Checker, conflict: Conflict, candidates: Iterable[Op]) -> Proof | None:
    """The smallest set within the candidates that shows a conflict; None if even all of them do not."""
    operations = _in_order(candidates)
    found = _found(evidence, checker, conflict, operations)
    if found is None:
        return None
    known = _shows_its_run(evidence, operations)
    while (smaller := _smaller(evidence, checker, conflict, operations, known=known)) is not None:
        operations, found = smaller
    return Proof(operations=operations, conflict=found)


def holds(evidence: Evidence, checker: Checker, conflict: Conflict, operations: Iterable[Op]) -> bool:
    """Is this very conflict found among these operations alone?"""
    found = conflicts_among(evidence, alone(evidence, _in_order(operations)), checker)
    return any(
        (each.breach, each.accused.index) == (conflict.breach, conflict.accused.index) for each in found
    )


def alone(evidence: Evidence, operations: Sequence[Op]) -> Evidence:
    """The same run with the same faults, if its clients had done nothing but these operations."""
    recorded = tuple(op for op in operations if op.lines)
    history = evidence.history
    began = min([*(op.called for op in recorded), *(fault.time for fault in history.faults)], default=0)
    history = replace(history, operations=recorded, started=began)
    log = log_of(evidence)
    if log is None:
        return gather(history)
    return Evidence(history=history, log=log.only({op.index for op in operations}))


def without(operations: Sequence[Op], one: Op) -> tuple[Op, ...]:
    """The others, but for reads of what this one wrote."""
    return tuple(op for op in operations if op is not one and not _returned(op, one))


def _in_order(operations: Iterable[Op]) -> tuple[Op, ...]:
    by_index: dict[int, Op] = {}
    for op in operations:
        by_index.setdefault(op.index, op)
    return tuple(by_index[index] for index in sorted(by_index))


def _smaller(
    evidence: Evidence, checker: Checker, conflict: Conflict, operations: Sequence[Op], *, known: bool
) -> tuple[tuple[Op, ...], Conflict] | None:
    """A set that lacks one operation; if the log was `known` to be that of these, it still is."""
    for rest in _each_without_one(operations):
        found = _found(evidence, checker, conflict, rest)
        if found is not None and (not known or _shows_its_run(evidence, rest)):
            return rest, found
    return None


def _each_without_one(operations: Sequence[Op]) -> Iterator[tuple[Op, ...]]:
    """Sets that lack one operation; reads go first, since they explain the least."""
    for one in sorted(operations, key=lambda op: op.f != "read"):
        rest = without(operations, one)
        if rest:
            yield rest


def _found(
    evidence: Evidence, checker: Checker, conflict: Conflict, operations: Sequence[Op]
) -> Conflict | None:
    """The same anomaly on the same resource, if these operations show it; of several that of the accused."""
    same = [
        each
        for each in conflicts_among(evidence, alone(evidence, operations), checker)
        if (each.anomaly, each.accused.resource) == (conflict.anomaly, conflict.accused.resource)
    ]
    own = (each for each in same if each.accused.index == conflict.accused.index)
    return next(own, same[0] if same else None)


def _shows_its_run(evidence: Evidence, operations: Sequence[Op]) -> bool:
    """Does something of the log fit these operations, so that it is seen to be that of their run?"""
    log = log_of(evidence)
    if log is None:
        return True
    entries = log.only({op.index for op in operations}).entries
    return not entries or any(entry.fits for entry in entries)


def _returned(read: Op, write: Op) -> bool:
    if write.f not in WRITES or read.resource != write.resource:
        return False
    if read.f == "append":
        return read.seen is not None and read.seen == write.value
    return read.f == "read" and read.outcome is Outcome.OK and read.value == write.value

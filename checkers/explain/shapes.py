"""Conflicts by shape: storage rules judge a few operations once for all with the same shape.

Most findings, within and across runs, are proved by operations in the same relations:
other times, tokens, values and names, in the same order and equal in the same places. A storage rule
depends on nothing else except what its fence promises (`Checker.compares_only`), unless the storage
was restarted, since a restart has a time of its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.facts.evidence import Evidence
from checkers.facts.recorded import restarts_of_storage
from checkers.history.commit_log import Entry
from checkers.history.memoized import memoized
from checkers.history.records import Op, Value

_MOST = 1 << 12  # shapes; most of thousands of findings share theirs


class _Placed(NamedTuple):
    """A conflict of a shape: the positions of the accused operation and of the evidence."""

    breach: Breach
    anomaly: str
    counted: bool
    accused: int
    because: tuple[int, ...]
    cause: _Placed | None


_KNOWN: dict[Hashable, list[_Placed]] = {}


def conflicts_among(whole: Evidence, part: Evidence, checker: Checker) -> Sequence[Conflict]:
    """Return the conflicts that a checker finds in some of a run's operations, as evidence of their own."""
    if not may_be_known(whole, checker):
        return list(checker.check(part))
    entries = () if part.log is None else tuple(part.log.entries)
    operations = _operations(part, entries)
    shape = (checker, part.log is None, *_shape(part, operations, entries))
    known = _KNOWN.get(shape)
    if known is None:
        conflicts = list(checker.check(part))
        place = {(op.index, op.token): at for at, op in reversed(list(enumerate(operations)))}
        if len(_KNOWN) >= _MOST:
            _KNOWN.clear()
        with suppress(KeyError):  # it names an operation that is not among these
            _KNOWN[shape] = [_placed(conflict, place) for conflict in conflicts]
        return conflicts
    return [_of_others(placed, operations) for placed in known]


def may_be_known(whole: Evidence, checker: Checker) -> bool:
    """Does the shape alone decide what a checker finds?"""
    return checker.compares_only and not _has_restarts(whole)


@memoized
def _has_restarts(whole: Evidence) -> bool:
    return bool(restarts_of_storage(whole.history.faults))


def _operations(part: Evidence, entries: Iterable[Entry]) -> list[Op]:
    """Return all operations that a conflict can name."""
    logged = (op for each in entries for op in (each.op, each.accused, each.near) if op is not None)
    return [*part.history.operations, *logged]


def _shape(part: Evidence, operations: Sequence[Op], entries: Sequence[Entry]) -> tuple[Hashable, ...]:
    header = part.history.header
    times = (moment for op in operations for moment in (op.called, op.returned, op.attempt, _learned(op)))
    moments = {moment for moment in times if moment is not None}
    all_tokens = (*(op.token for op in operations), *(each.commit.token for each in entries))
    tokens = {header.initial_token, *(token for token in all_tokens if token is not None)}
    time = {moment: rank for rank, moment in enumerate(sorted(moments))}
    height = {token: rank for rank, token in enumerate(sorted(tokens))}
    values: dict[Any, int] = {header.initial_value: 0}
    resources: dict[str, int] = {}
    owners: dict[str, int] = {}
    first: dict[int, int] = {}
    elements = {op.element: number for number, op in enumerate(operations) if op.element is not None}

    def of_list(value: Value) -> Hashable:
        """Return the number of a value, and the order of these operations' elements in it."""
        number = values.setdefault(value, len(values))
        if not elements or not isinstance(value, tuple):
            return number
        return number, tuple(elements[each] for each in value if each in elements)

    def of(op: Op) -> Hashable:
        return (
            first.setdefault(op.index, len(first)),
            op.f,
            op.outcome,
            op.error == "stale",
            time[op.called],
            None if op.returned is None else time[op.returned],
            None if op.token is None else height[op.token],
            None if op.attempt is None else time[op.attempt],
            None if (learned := _learned(op)) is None else time[learned],
            None if op.owner is None else owners.setdefault(op.owner, len(owners)),
            of_list(op.value),
            None if op.seen is None else of_list(op.seen),
            None if op.element is None else elements[op.element],
            resources.setdefault(op.resource, len(resources)),
        )

    def of_entry(entry: Entry) -> Hashable:
        commit = entry.commit
        return (
            resources.setdefault(commit.resource, len(resources)),
            None if commit.token is None else height[commit.token],
            of_list(commit.value),
            commit.fence,
            entry.sent is None,
            entry.near is None,
        )

    return (
        header.fenced,
        header.policy,
        len(part.history.operations),
        height[header.initial_token],
        part.log is not None and part.log.has_fences,
        *map(of, operations),
        *map(of_entry, entries),
    )


def _learned(op: Op) -> int | None:
    """Return when an append knew which list it had read; no rule asks that of other operations."""
    return op.learned if op.f == "append" else None


def _placed(conflict: Conflict, place: dict[tuple[int, int | None], int]) -> _Placed:
    return _Placed(
        breach=conflict.breach,
        anomaly=conflict.anomaly,
        counted=conflict.counted,
        accused=place[conflict.accused.index, conflict.accused.token],
        because=tuple(place[op.index, op.token] for op in conflict.because),
        cause=None if conflict.cause is None else _placed(conflict.cause, place),
    )


def _of_others(placed: _Placed, operations: Sequence[Op]) -> Conflict:
    """Return the same conflict of other operations."""
    return placed.breach.conflict(
        operations[placed.accused],
        *(operations[at] for at in placed.because),
        anomaly=placed.anomaly,
        cause=None if placed.cause is None else _of_others(placed.cause, operations),
        counted=placed.counted,
    )

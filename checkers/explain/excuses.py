"""Why something that was sent before a rejection returned cannot have been accepted by then."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from checkers.explain.narrator import Narrator
from checkers.history.records import Op, Outcome

MOST_EXPLAINED = 2
"""How many are explained; all are checked."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why something that was sent in time cannot have been accepted in time."""

    op: Op
    why: str
    because: tuple[Op, ...]

    @property
    def operations(self) -> tuple[Op, ...]:
        """What it is about, and what it rests on."""
        return (self.op, *self.because)


def excuses(n: Narrator, rejected: Op, in_time: Iterable[Op]) -> list[Excuse]:
    """Why each of these cannot have raised the mark before a rejection returned."""
    moment, least = rejected.returned or 0, n.least_above(rejected)
    return [_excuse(n, op, moment, least) for op in in_time if op != rejected]


def _excuse(n: Narrator, op: Op, moment: int, least: int) -> Excuse:
    first, why = _by_clients(n, op, moment) if n.log is None else _by_log(n, op, moment, least)
    readers = n.index.readers(op)
    if first is None:
        return Excuse(op, "it was too late", tuple(readers))
    because = (first, *n.index.readers(first), *readers)
    return Excuse(op, f"{why} {n.name(first)}, which was sent only {n.sent(first)}", because)


def _by_log(n: Narrator, op: Op, moment: int, least: int) -> tuple[Op | None, str]:
    first = _reached_by(n, op.resource, least)
    if not n.numbers(op) or n.log is None:
        return first, "had it been accepted by then, there could not have been"
    if first is None or first.called <= moment or n.log.places(first) > n.log.places(op):
        first = n.index.logged_before(op)
    return first, "in the storage's own order it comes after"


def _by_clients(n: Narrator, op: Op, moment: int) -> tuple[Op | None, str]:
    same = n.index.raising(op.resource, op.token or 0, math.inf)
    late = (each for each in same if each.token == op.token and each.called > moment)
    first = next((each for each in late if each.outcome is Outcome.OK or n.index.readers(each)), None)
    is_strict = n.history.header.policy == "strict"
    return first, (
        "a strict fence accepts its token once, for" if is_strict else "with the same token, it came after"
    )


def _reached_by(n: Narrator, resource: str, least: int) -> Op | None:
    """The first write in the storage's own order that has a token of `least` or more."""
    reaching = n.index.raising(resource, least, math.inf)
    placed = [op for op in reaching if n.log is not None and n.log.places(op)]
    return min(placed, key=lambda op: () if n.log is None else n.log.places(op), default=None)

"""Excuses: why an operation sent before a rejection returned cannot have been accepted by then."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from checkers.explain.narrator import Narrator
from checkers.history.records import Op, Outcome

MOST_EXPLAINED = 2
"""The excuses that are explained; more are checked."""
_MOST_CHECKED = 100


@dataclass(frozen=True, slots=True)
class Excuse:
    """The reason why an operation that was sent in time cannot have been accepted in time."""

    op: Op
    why: str
    because: tuple[Op, ...]

    @property
    def operations(self) -> tuple[Op, ...]:
        """The excused operation and its evidence."""
        return (self.op, *self.because)


def excuses(n: Narrator, rejected: Op, in_time: Iterable[Op]) -> list[Excuse]:
    """Say why each cannot have raised the mark before a rejection returned; of very many, the first ones."""
    moment, least = rejected.returned or 0, n.least_above(rejected)
    others = (op for op in in_time if op != rejected)
    return [_excuse(n, op, moment, least) for op in islice(others, _MOST_CHECKED)]


def _excuse(n: Narrator, op: Op, moment: int, least: int) -> Excuse:
    readers = n.index.readers(op)
    stored = n.stored_token(op)
    if stored is not None and stored < least:
        return Excuse(op, f"the storage's own order has it with token {stored}", tuple(readers))
    first, why = _by_clients(n, op, moment) if n.log is None else _by_log(n, op, moment, least)
    if first is None:
        return Excuse(op, "it was too late", tuple(readers))
    because = (first, *n.index.readers(first), *readers)
    return Excuse(op, f"{why} {n.name(first)}, which was sent only {n.sent(first)}", because)


def _by_log(n: Narrator, op: Op, moment: int, least: int) -> tuple[Op | None, str]:
    first = n.index.first_logged(op.resource, least)
    if not n.numbers(op) or n.log is None:
        return first, "had it been accepted by then, there could not have been"
    if first is None or first.called <= moment or n.log.places(first) > n.log.places(op):
        first = n.log.sent_last_before(op)
    return first, "in the storage's own order it comes after"


def _by_clients(n: Narrator, op: Op, moment: int) -> tuple[Op | None, str]:
    late = (each for each in n.index.raising_to(op.resource, op.token or 0) if each.called > moment)
    first = next((each for each in late if each.outcome is Outcome.OK or n.index.readers(each)), None)
    is_strict = n.history.header.policy == "strict"
    strict = "a strict fence accepts its token once, for"
    return first, strict if is_strict else "with the same token, it came after"

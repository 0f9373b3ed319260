"""Evidence that a write took effect: its own answer, or what others read; and that it cannot have in time.

An *excuse* says why an operation sent before a rejection returned cannot have been accepted by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, step
from checkers.facts.appends import read_by
from checkers.facts.shown_appends import shown_appends
from checkers.history.records import WRITES, Op, Outcome
from checkers.text.printable import content


def acceptance(n: Narrator, proof: Sequence[Op]) -> Step:
    """Say why a write had surely taken effect: its own ok, or a client that read it."""
    write, by = proof[0], proof[-1]
    shown = read_by(by)
    if shown is not None and by is not write and write.f == "append" and shown != write.value:
        over = ", and its append was over" if by.f == "append" else ""
        return step(
            f"{n.who(by)} read a list with {content(write.element)}{over}"
            f" {n.answered(by)}, so that element had been stored by then.",
            write,
            by,
        )
    if by.f == "read":
        return step(
            f"A read by {n.whom(by)} returned {content(by.value)}{n.with_token(by)}"
            f" {n.answered(by)}, so that write had been accepted by then.",
            by,
        )
    if by.f == "fence":
        return step(
            f"The storage acknowledged a fence with token {by.token} to {n.whom(by)}"
            f" {n.answered(by)}: from then on it had to refuse older tokens.",
            by,
        )
    if by is not write and by.f == "append" and by.seen == write.value:
        return step(
            f"{n.who(by)} read {content(write.value)} in order to append to it, and its append was"
            f" over {n.answered(by)}, so that write had been accepted by then.",
            write,
            by,
        )
    wrote = f"{n.who(by)} wrote {content(by.value)}{n.with_token(by)}"
    return step(f"{wrote}, and the storage said ok {n.answered(by)}.", by)


def ending(n: Narrator, op: Op) -> str:
    """Say which outcome the client saw."""
    if op.outcome is Outcome.OK:
        return f"The storage accepted it {n.answered(op)}"
    if op.outcome is Outcome.FAIL:
        return f"It was reported as failed ({op.error or 'without a reason'}) {n.answered(op)}"
    return f"Its client got no usable answer ({op.error or 'none came'})"


def first_reader(n: Narrator, op: Op) -> list[Op]:
    """Return the read that shows that an unacknowledged write took effect, if there is one."""
    if op.f not in WRITES or op.outcome is Outcome.OK:
        return []
    readers = (read for read in n.index.readers(op) if not read.precedes(op))
    same = (read for read in readers if None in {read.token, op.token} or read.token == op.token)
    return [*same, *shown_by(n, op)][:1]


def shown_by(n: Narrator, append: Op) -> list[Op]:
    """Return the reader of a list that proves an append before its own answer or without one."""
    by = shown_appends(n.evidence).by.get(append.index)
    return [] if by is None or (append.outcome is Outcome.OK and by.over >= append.over) else [by]


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

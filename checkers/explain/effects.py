"""Evidence that a write took effect: its own answer, or what others read."""

from __future__ import annotations

from collections.abc import Sequence

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

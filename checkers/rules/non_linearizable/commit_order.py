"""Non-linearizable or stale-read: the storage's own order contradicts real time, reads or refusals.

The log fixes the place of every write and fence. A read comes after the write whose value it returned and
before the next write. So the log explains the clients' history iff no operation returned before the call of
another one with a lower place (see `log_order`). A read is a stale-read if a write with a newer token had
replaced its value. If only a refusal contradicts a read, either the refusal was false or the read was stale.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.explain.causes import of_servers
from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.cycles import Question, cycle
from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause, Step, Story, capitalized, step
from checkers.explain.telling import fault_steps, in_time_order
from checkers.facts.evidence import Evidence
from checkers.facts.log_order import Late, LogOrder, order_of
from checkers.history.columns import ABSENT, NO_ROWS, READ, Flags, Ints
from checkers.history.ranges import NOWHERE
from checkers.history.records import Op
from checkers.rules.non_linearizable.false_or_stale import false_or_stale
from checkers.text.printable import content


def against_the_log(evidence: Evidence) -> Iterator[Conflict]:
    """Yield operations that come too late for their place in the storage's own order."""
    order = order_of(evidence)
    return iter(()) if order is None else conflicts_of(order, order.late)


def conflicts_of(order: LogOrder, late: Late) -> Iterator[Conflict]:
    """Yield each late operation with its evidence, or the refusal that alone makes it late."""
    columns = np.column_stack((late.rows, late.reached, late.by, late.refusals))
    for row, reached, by, refusal in columns.tolist():
        if refusal != NOWHERE:
            yield false_or_stale(order.as_stored(row), order.recorded.ops[refusal])
        elif order.recorded.columns.f[row] != READ:
            yield _conflict(order, row, NO_ROWS, reached, by)
        elif len(passed := _passed(order, row, reached)):  # else only writes that are late themselves
            yield _conflict(order, row, passed, reached, by)


def _conflict(order: LogOrder, row: int, passed: Ints, reached: int, by: int) -> Conflict:
    shown, anomaly = _wrong_read(order, row, passed) if len(passed) else ([], "non-linearizable")
    because = (*map(order.log.op, (*shown, reached)), order.recorded.ops[by])
    once = {each.index: each for each in because}
    return AGAINST_THE_LOG.conflict(order.as_stored(row), *once.values(), anomaly=anomaly)


def _passed(order: LogOrder, row: int, reached: int) -> Ints:
    """Return the positions of writes that had replaced a read's value; not of those sent after the read."""
    log, ranks = order.log, order.recorded.ranks
    passed = np.arange(_place(order, row) + 1, reached + 1)
    passed = passed[~log.fence[passed]]
    called = np.where(log.row[passed] < 0, 0, np.append(ranks.called, 0)[log.row[passed]])
    in_time: Flags = called <= ranks.returned[row]
    return passed[in_time]


def _wrong_read(order: LogOrder, row: int, passed: Ints) -> tuple[list[int], str]:
    """Return the log entries that show that a read's value had been replaced, and the anomaly's name."""
    log, place = order.log, _place(order, row)
    is_initial = place < log.first[order.recorded.columns.resource[row]]
    token = order.recorded.header.initial_token if is_initial else int(log.token[place])
    newer = passed[(log.token[passed] != ABSENT) & ((token == ABSENT) | (log.token[passed] > token))]
    shown = [*([] if is_initial else [place]), *newer[:1].tolist(), int(passed[0])]
    return shown, "stale-read" if len(newer) else "non-linearizable"


def _place(order: LogOrder, row: int) -> int:
    """Return the last position of a read's value."""
    return int(order.reads.last[np.searchsorted(order.reads.rows, row)])


def _against_the_log(n: Narrator, conflict: Conflict) -> Story:
    op = conflict.accused
    stored = (each for each in conflict.because if each.f != "read" and each.index != op.index)
    later = next(each for each in stored if each.f == "fence" or each.value != op.value)
    if op.f == "read":
        summary = (
            f"{n.whom(op)} read {content(op.value)} from {op.resource} although {n.stored(later)}, which"
            " the storage's own order puts after it, had been accepted before"
        )
        moral = f"the read returned {content(op.value)} although {n.stored(later)} had replaced it"
    else:
        did = "fenced" if op.f == "fence" else f"wrote {content(op.value)} to"
        summary = (
            f"{n.whom(op)} {did} {op.resource} after {n.stored(later)} had been"
            " accepted, and the storage's own order puts it before"
        )
        moral = f"the storage's own order has {n.stored(op)} before what was accepted earlier"
    cause = of_servers(n, "storage", conflict.proof)
    by = conflict.because[-1]
    if by.f == "fence" and not n.numbers(by):
        why = (*_after_a_fence(n, conflict, by), step(f"So {moral}."))
    else:
        log = n.logged(conflict.proof, op)
        why = cycle(n, Question(proof=conflict.proof, fenced=False, log=log, accused=op), moral)
    return Story(
        summary=summary,
        sentences=_short_story(n, op, later, by, cause),
        steps=(*fault_steps(n, cause), *why),
        cause=cause,
    )


def _short_story(n: Narrator, op: Op, later: Op, by: Op, cause: Cause | None) -> tuple[str, ...]:
    """Say who wrote what, and what came first although it is later in the storage's own order."""
    accepted = f"which was accepted by {n.at(by.returned or 0)}"
    if op.f != "read":
        did = "fenced" if later.f == "fence" else f"wrote {content(later.value)} to"
        first = (later.called, f"{n.who(later)} {did} {later.resource}, {accepted}.")
        order = f"the storage's own order has it before {n.stored(later)}"
        sent = f"{n.who(op)} sent {n.message(op)} only after that, at {n.at(op.called)}, but {order}."
        return in_time_order(n, cause, first, (op.called, sent))
    old, write = content(op.value), n.index.writer(op)
    replaced = f"{n.who(later)} replaced it with {content(later.value)}, {accepted}."
    still = f"After that, at {n.at(op.called)}, {n.whom(op)} still read {old}."
    if cause is not None:
        replaced = f"{n.who(later)} replaced {old} on {op.resource} with {content(later.value)}, {accepted}."
        return in_time_order(n, cause, (later.called, replaced), (op.called, still))
    held = f"At first, {op.resource} held {old}."
    return (held if write is None else f"{n.who(write)} wrote {old} to {op.resource}.", replaced, still)


def _after_a_fence(n: Narrator, conflict: Conflict, fence: Op) -> tuple[Step, ...]:
    """Say what an acknowledged fence implies for the storage's own order, if another entry has its token."""
    op = conflict.accused
    stored = (each for each in conflict.because if each.f == "fence" or each.value != op.value)
    reached = max((each for each in stored if n.numbers(each)), key=lambda each: n.numbers(each)[0])
    place = f", and it is {n.place(op, first=True)} there" if n.numbers(op) else ""
    answered = n.answered(fence)
    return (
        step(
            f"The storage acknowledged to {n.whom(fence)} a fence with token {fence.token} {answered}:"
            f" by then its own order must have had {n.stored(reached)} ({n.place(reached, first=True)}).",
            reached,
        ),
        step(f"{capitalized(n.began(op))}{place}.", op),
    )


# because: what had returned before, later in the log
AGAINST_THE_LOG = Breach("non-linearizable", "against-the-log", _against_the_log)

CHECKER = Checker(
    "order", "committed", against_the_log, ("stale-read", "non-linearizable"), compares_only=True
)

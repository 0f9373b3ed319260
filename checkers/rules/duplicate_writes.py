"""Duplicate-write: the log has one write more than once, so something retried it.

The log is complete and each value is written once, so an honest storage logs it once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from checkers.explain.causes import of_call
from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, listed, step, times
from checkers.explain.telling import in_time_order, steps_in_time_order
from checkers.facts.evidence import Evidence
from checkers.facts.recorded import recorded
from checkers.text.printable import content


def duplicate_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Yield the writes that the log has more than once."""
    log = evidence.log
    if log is None:
        return
    writes = recorded(evidence).writes
    for row in writes[log.times_logged[writes] > 1].tolist():
        yield LOGGED_TWICE.conflict(recorded(evidence).ops[row])


def _logged_twice(n: Narrator, conflict: Conflict) -> Story:
    write, what = conflict.accused, content(conflict.accused.value)
    numbers, cause = n.numbers(write), of_call(n, write)
    sent = step(f"{n.who(write)} sent {what} once, {n.sent(write)}.", write)
    places = f"In the storage's own order it is {listed(numbers)}"
    often = f"took effect {times(len(numbers))}"
    return Story(
        summary=f"the write of {what}{n.with_token(write)} to {write.resource} by {n.whom(write)} {often}",
        steps=(
            *steps_in_time_order(n, cause, [(write.called, sent)]),
            step(f"{places}: something between the client and the storage repeated it."),
        ),
        sentences=in_time_order(
            n,
            cause,
            (write.called, f"{n.who(write)} sent {what} to {write.resource} once."),
            (math.inf, f"It {often}: something on the way repeated it."),
        ),
        cause=cause,
    )


LOGGED_TWICE = Breach("duplicate-write", "logged-twice", _logged_twice)

CHECKER = Checker("duplicate-write", "committed", duplicate_writes, compares_only=True)

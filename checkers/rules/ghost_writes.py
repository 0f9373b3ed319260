"""Ghost-write: a write or fence that ended in *fail* took effect: the log has it, or a client read it.

An *info* that took effect is never a ghost-write.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from checkers.explain.causes import of_call
from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.effects import acceptance
from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause, Step, Story, step
from checkers.explain.telling import in_time_order, steps_in_time_order
from checkers.facts.cluster_columns import ZoneColumns
from checkers.facts.evidence import Evidence
from checkers.facts.recorded import recorded
from checkers.history.columns import FAIL, FENCE, indices
from checkers.history.ranks import is_repeated
from checkers.history.records import Op, Outcome
from checkers.text.printable import content

_MORAL = ": after that answer it must never take effect"


def ghost_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Yield the writes and fences that ended in fail and are in the log."""
    log = evidence.log
    if log is None:
        return
    asked = recorded(evidence)
    for row in indices((log.first_of_row >= 0) & (asked.columns.outcome == FAIL)).tolist():
        breach = FENCE_FAILED_BUT_LOGGED if asked.columns.f[row] == FENCE else FAILED_BUT_LOGGED
        yield breach.conflict(asked.ops[row])


def ghosts_that_were_read(zones: ZoneColumns) -> Iterator[Conflict]:
    """Yield each write that ended in fail whose value was read, with the first read of it."""
    of_ghosts = indices(zones.columns.outcome[zones.read_write] == FAIL)
    first = of_ghosts[~is_repeated(zones.read_write[of_ghosts])]
    for read, write in zip(zones.reads[first].tolist(), zones.read_write[first].tolist(), strict=True):
        yield FAILED_BUT_READ.conflict(zones.ops[write], zones.ops[read])


def ghosts_that_were_found(zones: ZoneColumns) -> Iterator[Conflict]:
    """Yield each append that ended in fail whose element was found, with the first append to read it."""
    for append in zones.shown.appends:
        if append.outcome is Outcome.FAIL:
            yield FAILED_BUT_FOUND.conflict(append, zones.shown.by[append.index])


def _failed_but_logged(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    shown = f"But {content(write.value)} is {n.place(write)} in the storage's own order of stored writes."
    return _took_effect(n, write, step(shown, write), "the storage has it", _MORAL)


def _failed_but_read(n: Narrator, conflict: Conflict) -> Story:
    write, read = conflict.accused, conflict.because[0]
    shown = (
        f"But {n.whom(read)} read {content(read.value)} {n.answered(read)}, and no other write has"
        " that value, so it took effect."
    )
    return _took_effect(n, write, step(shown, read), f"{n.whom(read)} read it", _MORAL)


def _fence_failed_but_logged(n: Narrator, conflict: Conflict) -> Story:
    fence = conflict.accused
    shown = step(f"But that fence is {n.place(fence)} in the storage's own order.", fence)
    return _took_effect(n, fence, shown, "the storage has it")


def _took_effect(n: Narrator, op: Op, shown: Step, why: str, moral: str = "") -> Story:
    """Tell who was answered that a request failed, what that rules out, and what shows that it did not."""
    cause = of_call(n, op)
    request = f"{n.message(op)}{n.with_token(op)} to {op.resource}"
    sent = f"{n.who(op)} sent {request}, and was answered that it failed."
    after = f"It took effect all the same: {why}."
    return Story(
        summary=_failed_and_took_effect(n, op),
        steps=(*_failed(n, op, cause, moral), shown),
        sentences=in_time_order(n, cause, (op.called, sent), (math.inf, after)),
        cause=cause,
    )


def _failed_and_took_effect(n: Narrator, op: Op) -> str:
    return f"{n.request(op)} was reported as failed, but it took effect"


def _failed(n: Narrator, op: Op, cause: Cause | None, moral: str) -> list[Step]:
    """Say who sent a request, and which answer ruled out that it would take effect."""
    answer = f"It was reported as failed ({op.error or 'without a reason'}) {n.answered(op)}{moral}."
    answered = math.inf if op.learned is None else op.learned
    return steps_in_time_order(n, cause, [(op.called, n.sent_step(op)), (answered, step(answer, op))])


def _failed_but_found(n: Narrator, conflict: Conflict) -> Story:
    write, append = conflict.accused, conflict.because[0]
    appended = f"{n.who(write)} appended {content(write.element)} to {write.resource}"
    return Story(
        summary=_failed_and_took_effect(n, write),
        steps=(
            *_failed(n, write, None, _MORAL),
            acceptance(n, (write, append)),
            step(f"Only that append adds {content(write.element)}: it took effect all the same.", write),
        ),
        sentences=(
            f"{appended}, and was answered that it failed.",
            f"{n.who(append)} read a list that has it: it took effect all the same.",
        ),
    )


FAILED_BUT_LOGGED = Breach("ghost-write", "failed-but-logged", _failed_but_logged)
# because: the read
FAILED_BUT_READ = Breach("ghost-write", "failed-but-read", _failed_but_read)
# because: the append that read it
FAILED_BUT_FOUND = Breach("ghost-write", "failed-but-read", _failed_but_found)
FENCE_FAILED_BUT_LOGGED = Breach("ghost-write", "fence-failed-but-logged", _fence_failed_but_logged)

CHECKER = Checker("ghost-write", "committed", ghost_writes, compares_only=True)

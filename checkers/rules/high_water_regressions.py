"""High-water-regression: a fenced storage lost a value, and its mark went down with it.

Each loss (see `lost_writes`) accuses one read: the first of a lower token that was called
after another read had returned a higher one. If the higher mark comes back, it is a stale-read.
"""

from __future__ import annotations

from collections.abc import Iterable

from checkers.explain.causes import of_restart
from checkers.explain.conflict import Breach, Conflict, each_once
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, as_read, step
from checkers.explain.telling import happened
from checkers.facts.held_values import Values
from checkers.facts.losses import Relapse


def high_water_regression(values: Values, lost: Conflict, own: Iterable[Relapse]) -> Conflict | None:
    """Return the loss's first read of a lower mark after another read had returned a higher one."""
    for read in sorted(own, key=lambda each: each.op.index):
        higher = values.higher_read(int(values.token[read.value]), values.moments(read.op)[0])
        if higher is not None:
            because = each_once(read.op, higher, lost.accused, *lost.because)
            return MARK_WENT_BACK.conflict(read.op, *because, cause=lost)
    return None


def _mark_went_back(n: Narrator, conflict: Conflict) -> Story:
    read, higher = conflict.accused, conflict.because[0]
    fault = n.restart(higher, read)
    forgot = f"the storage of {read.resource} forgot token {higher.token}"
    return Story(
        summary=f"{forgot}: {n.whom(read)} read {as_read(read)} after that",
        steps=(
            step(f"A read by {n.whom(higher)} returned {as_read(higher)} {n.answered(higher)}.", higher),
            *n.restart_steps(fault, higher),
            step(f"Then {n.whom(read)} called a read {n.sent(read)}.", read),
            step(
                f"It returned {as_read(read)} {n.answered(read)}, and the higher token did not come back:"
                " the storage's highest token had gone down.",
                read,
            ),
        ),
        cause=of_restart(n, higher, read),
        sentences=(
            f"{n.who(higher)} read {as_read(higher)} from {higher.resource}.",
            happened(n, fault),
            f"Then {n.whom(read)} read {as_read(read)}: the storage has forgotten the higher token.",
        ),
    )


# because: the higher read, what was lost, what shows that
MARK_WENT_BACK = Breach("high-water-regression", "mark-went-back", _mark_went_back)

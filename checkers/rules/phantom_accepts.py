"""Phantom-accept: a write or fence was acknowledged, and the storage never did it.

A write is missing from the complete log; no read returned its value, and the storage
was not restarted after it had been sent (else it is a lost-write, see `missing`). Where fences
are logged, so is a fence if the mark cannot have had its token when it was acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.explain.causes import of_unlogged_write
from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, step
from checkers.explain.telling import came_late, fault_steps
from checkers.facts.evidence import Evidence
from checkers.facts.missing import missing
from checkers.facts.recorded import recorded
from checkers.text.printable import content


def phantom_accepts(evidence: Evidence) -> Iterator[Conflict]:
    """Yield the writes and fences that the storage acknowledged and never stored."""
    known = missing(evidence)
    for breach, rows in ((NEVER_LOGGED, known.never_stored), (FENCE_NEVER_RAISED, known.never_raised)):
        for row in rows.tolist():
            yield breach.conflict(recorded(evidence).ops[row])


def _never_logged(n: Narrator, conflict: Conflict) -> Story:
    write, what = conflict.accused, content(conflict.accused.value)
    cause = of_unlogged_write(n, write)
    wrote = f"{n.who(write)} wrote {what}{n.with_token(write)} to {write.resource}"
    late = f"Then it wrote {what}, and the storage said ok, but never stored it."
    return Story(
        summary=f"the storage acknowledged {n.request(write)}, but never stored it",
        steps=(
            *fault_steps(n, cause, write),
            n.sent_step(write),
            step(f"The storage said ok {n.answered(write)}, so it must have stored it.", write),
            step(f"But {what} is {n.place(write)}, which has every write that was stored.", write),
        ),
        cause=cause,
        sentences=came_late(n, cause, write, late)
        or (f"{wrote}, and the storage said ok.", "It was never stored."),
    )


def _never_raised(n: Narrator, conflict: Conflict) -> Story:
    fence = conflict.accused
    highest = f"from then on its highest token had to be {fence.token} or above"
    return Story(
        summary=f"the storage acknowledged {n.request(fence)}, but its own order has no such token by then",
        steps=(
            n.sent_step(fence),
            step(f"The storage said ok {n.answered(fence)}: {highest}.", fence),
            step(
                f"But by its own order, which includes fences, nothing with token {fence.token} or above can"
                " have been accepted by then."
            ),
        ),
        sentences=(
            f"{n.who(fence)} fenced {fence.resource} with token {fence.token}, and the storage said ok.",
            "Its own order has no such token by then.",
        ),
    )


NEVER_LOGGED = Breach("phantom-accept", "never-logged", _never_logged)
FENCE_NEVER_RAISED = Breach("phantom-accept", "fence-never-raised", _never_raised)

CHECKER = Checker("phantom-accept", "committed", phantom_accepts, compares_only=True)

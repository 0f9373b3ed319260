"""How it is told that a lock was stuck."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.records import Op
from checkers.telling.narrator import Narrator, Story
from checkers.waiting import Stuck, stretches

_SECOND = 1_000_000_000  # ns
_TOLD = 3  # of those who waited; the others are only counted


def _nobody_granted(n: Narrator, conflict: Conflict) -> Story:
    resource = conflict.accused.resource
    stuck = _stretch(n, conflict)
    whom = n.whom(conflict.accused)
    return Story(
        summary=(
            f"the lock on {resource} was stuck: from {n.at(stuck.start)} to {n.at(stuck.end)} nobody can have"
            f" held it, {whom} waited for it, and nobody got it"
        ),
        steps=(
            _held_last(n, stuck),
            *_waiting(n, stuck.waiting),
            (
                f"Between {n.at(stuck.start)} and {n.at(stuck.end)} no fault was in force on the lock"
                " service, nor on those who waited."
            ),
            (
                f"Nobody was granted the lock on {resource} in that time, which is longer than the longest"
                f" lease ({_seconds(stuck.lease)}) and the time that the service may take"
                f" ({_seconds(n.history.header.grace)}) together."
            ),
        ),
        proof=stuck.waiting,
    )


def _stretch(n: Narrator, conflict: Conflict) -> Stuck:
    """The stretch in the whole history that the conflict is about."""
    return next(
        stuck
        for stuck in stretches(Evidence(history=n.history))
        if any(op.index == conflict.accused.index for op in stuck.waiting)
    )


def _held_last(n: Narrator, stuck: Stuck) -> str:
    if stuck.last is None:
        return "Nobody is known to have held it, and what was there before the run was over by then."
    asked = "a renewal" if stuck.last.f == "renew" else "an acquire"
    return (
        f"The last that may have held it was {n.whom(stuck.last)}, by {asked} that came back"
        f" {n.answered(stuck.last)}: its hold was over by {n.at(stuck.start)}."
    )


def _waiting(n: Narrator, waiting: Sequence[Op]) -> Iterator[str]:
    for op in waiting[-_TOLD:]:
        refused = n.answered(op) if op.attempt is None else f"until {n.at(op.attempt)}"
        yield f"{n.who(op)} asked for it {n.sent(op)} and was refused {refused}."
    if len(waiting) > _TOLD:
        yield f"So did {len(waiting) - _TOLD} others before, one after the other without a pause."


def _seconds(time: int) -> str:
    return f"{time / _SECOND:.3f} s"


WAITING_STORIES: dict[Rule, Callable[[Narrator, Conflict], Story]] = {Rule.NOBODY_GRANTED: _nobody_granted}

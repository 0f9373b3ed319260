"""How it is told that a lock was stuck."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.records import Op
from checkers.telling.contents import lock_on
from checkers.telling.narrator import Narrator, Story
from checkers.waiting import Hold, Stuck, stretches

_TOLD = 3  # of those who waited; the others are only counted


def _nobody_granted(n: Narrator, conflict: Conflict) -> Story:
    resource = conflict.accused.resource
    stuck = _stretch(n, conflict)
    whom = n.whom(conflict.accused)
    return Story(
        summary=(
            f"{lock_on(resource)} was stuck: from {n.at(stuck.start)} to {n.at(stuck.end)} nobody can have"
            f" held it, {whom} waited for it, and nobody got it"
        ),
        steps=(
            *_held_last(n, stuck),
            *_waiting(n, stuck.waiting),
            (
                f"Between {n.at(stuck.start)} and {n.at(stuck.end)} no fault was in force on the lock"
                " service, nor on those who waited."
            ),
            (
                f"Nobody was granted {lock_on(resource)} in that time, which is longer than the longest"
                f" lease ({n.lasting(stuck.lease)}) and the time that the service may take"
                f" ({n.lasting(n.history.header.grace)}) together."
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


def _held_last(n: Narrator, stuck: Stuck) -> Iterator[str]:
    if stuck.last is None:
        yield "Nobody is known to have held it, and what was there before the run was over by then."
        return
    setter = stuck.last.setter
    asked = "a renewal" if setter.f == "renew" else "an acquire"
    yield (
        f"The last that may have held it was {n.whom(setter)}, by {asked} that came back"
        f" {n.answered(setter)}: {_over(n, stuck.last)}."
    )
    if stuck.last.end < stuck.start == n.history.started + stuck.lease:
        yield (
            f"A lease from before the run, if there was one, was over by {n.at(stuck.start)}:"
            f" {n.lasting(stuck.lease)} after the first event."
        )


def _over(n: Narrator, hold: Hold) -> str:
    if hold.release is None:
        return f"its lease was over by {n.at(hold.end)}"
    return f"its release was acknowledged to {n.whom(hold.release)} {n.answered(hold.release)}"


def _waiting(n: Narrator, waiting: Sequence[Op]) -> Iterator[str]:
    for op in waiting[-_TOLD:]:
        yield f"{n.who(op)} asked for it {n.sent(op)} and {_in_vain(n, op)}."
    if len(waiting) > _TOLD:
        yield f"So did {len(waiting) - _TOLD} others before, one after the other without a pause."


def _in_vain(n: Narrator, op: Op) -> str:
    if op.attempt is None:
        return f"was refused {n.answered(op)}"
    return (
        f"had to ask again until {n.at(op.attempt)}: only that attempt was granted, as it was told"
        f" {n.answered(op)}"
    )


WAITING_STORIES: dict[Rule, Callable[[Narrator, Conflict], Story]] = {Rule.NOBODY_GRANTED: _nobody_granted}

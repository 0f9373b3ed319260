"""Stuck-lock: a client waited, no client can have held the lock, and none got it.

Each stretch of time in which all three hold is one conflict (see `stuck_stretches`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, capitalized, lock_on, step
from checkers.facts.evidence import Evidence, memoized_as_seen
from checkers.facts.stuck_stretches import PossibleHold, Stuck, stretches, waiting_chain
from checkers.facts.surroundings import surroundings_of
from checkers.history.faults import client_of
from checkers.history.records import Op

_MOST_NAMED = 3  # waiting clients; the others are only counted
_AT_ONCE = 1_000_000  # ns from a call to its attempt


def stuck_locks(evidence: Evidence) -> Iterator[Conflict]:
    """Yield one conflict for each stretch of time in which a lock was stuck."""
    for stuck in stretches(evidence):
        kept_by = None if stuck.last is None else stuck.last.setter
        yield NOBODY_GRANTED.conflict(stuck.waiting[-1], kept_by, *stuck.waiting[:-1])


def _nobody_granted(n: Narrator, conflict: Conflict) -> Story:
    lock = lock_on(conflict.accused.resource)
    stuck = _stretch(n, conflict)
    clients = {client_of(op.process, n.history.header) for op in stuck.waiting}
    whom = n.whom(conflict.accused) if len(clients) == 1 else "clients"
    return Story(
        summary=(
            f"{lock} was stuck: from {n.at(stuck.start)} to {n.at(stuck.end)} no client can have"
            f" held it, {whom} waited for it, and no client got it"
        ),
        steps=(
            *_held_last(n, stuck),
            *_waiting(n, stuck.waiting),
            step(
                f"Between {n.at(stuck.start)} and {n.at(stuck.end)} no fault was in force on the lock"
                " service, nor on a client while it counts as waiting."
            ),
            step(f"No client was granted {lock} in that time, which is longer than {_patience(n, stuck)}."),
        ),
        proof=stuck.waiting,
        sentences=(
            capitalized(f"{lock} was free from {n.at(stuck.start)} on."),
            capitalized(f"{whom} waited for it until {n.at(stuck.end)}."),
            "No fault was in force on the lock service, and no client was granted it.",
        ),
    )


def _stretch(n: Narrator, conflict: Conflict) -> Stuck:
    """Return the stretch that the conflict is about: the first, in the whole history, for the accused."""
    own = _by_resource(n.evidence)[conflict.accused.resource]
    waits = surroundings_of(n.history.header, n.history.faults).waited(conflict.accused)
    places = ((bisect_right(own, start, key=attrgetter("end")), end) for start, end in waits)
    return next(own[place] for place, end in places if place < len(own) and own[place].start < end)


@memoized_as_seen
def _by_resource(evidence: Evidence) -> dict[str, list[Stuck]]:
    own: dict[str, list[Stuck]] = defaultdict(list)
    for stuck in stretches(evidence):
        own[stuck.waiting[0].resource].append(stuck)
    return own


def _held_last(n: Narrator, stuck: Stuck) -> Iterator[Step]:
    if stuck.last is None:
        yield step("No client is known to have held it, and any lease from before the run was over by then.")
        return
    setter = stuck.last.setter
    asked = "a renewal" if setter.f == "renew" else "an acquire"
    yield step(
        f"The last possible holder was {n.whom(setter)}, with {asked} that was answered"
        f" {n.answered(setter)}: {_over(n, stuck.last)}.",
        setter,
    )
    if stuck.lease and stuck.last.end < stuck.start == n.history.started + stuck.lease:
        over = f"was over by {n.at(stuck.start)}: {n.lasting(stuck.lease)} after the first event"
        yield step(f"A lease from before the run, if there was one, {over}.")


def _patience(n: Narrator, stuck: Stuck) -> str:
    grace = f"the time that the service may take ({n.lasting(n.history.header.grace)})"
    return f"the longest lease ({n.lasting(stuck.lease)}) plus {grace}" if stuck.lease else grace


def _over(n: Narrator, hold: PossibleHold) -> str:
    if hold.release is None:
        return f"its lease was over by {n.at(hold.end)}"
    return f"its release was acknowledged to {n.whom(hold.release)} {n.answered(hold.release)}"


def _waiting(n: Narrator, waiting: Sequence[Op]) -> Iterator[Step]:
    for op in waiting[-_MOST_NAMED:]:
        yield step(f"{n.who(op)} asked for it {n.sent(op)} and {_in_vain(n, op)}.", op)
    if len(waiting) > _MOST_NAMED:
        breath = surroundings_of(n.history.header, n.history.faults).breath
        more = len(waiting) - _MOST_NAMED
        yield step(
            f"Before them, {more} more request{'s' if more > 1 else ''} waited, with gaps of at most"
            f" {n.lasting(breath)} from one to the next."
        )


def _in_vain(n: Narrator, op: Op) -> str:
    if op.attempt is None:
        return f"was refused {n.answered(op)}"
    if op.attempt - op.called < _AT_ONCE:
        return f"right after that sent the attempt that was granted, answered {n.answered(op)}"
    return f"kept asking until {n.at(op.attempt)}: only that attempt was granted, answered {n.answered(op)}"


# because: what kept the lock held last, then who else waited
NOBODY_GRANTED = Breach("stuck-lock", "not-granted", _nobody_granted, chain=waiting_chain)

CHECKER = Checker("stuck-lock", "observed", stuck_locks)

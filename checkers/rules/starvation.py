"""Starvation (only counted): a client was refused for long while no client held the lock.

An advisory lock that is unlocked on another pooled connection stays with the session that took it:
that client gets it again and again, and the others hardly ever. No rule is broken, since each grant is
good, but the lock is not shared.

A client is starved if, from one of its grants to the next, it was refused for more than five times the
service's grace while no client held the lock. By the clients' own accounts, a hold lasts from the request
that was granted to the answer to the release, a failed renewal, or the end of the client's process. Time in
which a fault was in force on the service or on the client does not count, and gaps of up to a
tenth of the grace between two of its acquires are ignored (see `stuck_stretches`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, lock_on, step, times
from checkers.facts.evidence import Evidence, memoized_as_seen
from checkers.facts.intervals import Covered, Interval, joined
from checkers.facts.leases import ENDS, Beliefs, by_owner, granted
from checkers.facts.narrowing import narrowed, of_starved
from checkers.facts.surroundings import Surroundings, surroundings_of
from checkers.history.faults import client_of, faults_of, gone_at
from checkers.history.records import Header, Op, Outcome

GRACES = 5
"""A client counts as starved once it was refused for this many times the service's grace."""


_Starved = tuple[Sequence[Op], float]
"""The refused acquires of a client, and how long the lock was free meanwhile, in ns."""


def starved(evidence: Evidence) -> Iterator[Conflict]:
    """Yield the last refused acquire of each starved client, once for each lock."""
    for refused, _ in _times(evidence).values():
        yield REFUSED_FOR_LONG.conflict(refused[-1], *refused[:1])


@memoized_as_seen
def _times(evidence: Evidence) -> dict[int, _Starved]:
    """Return the stretches of starvation by the index of the last refused acquire."""
    return {refused[-1].index: (refused, time) for refused, time in _found(evidence)}


def _found(evidence: Evidence) -> Iterator[_Starved]:
    header = evidence.history.header
    surroundings = surroundings_of(header, evidence.history.faults)
    least = GRACES * header.grace
    chosen = narrowed(evidence, lambda holds: of_starved(holds, least, header.clients))
    end_of = gone_at(header, faults_of(evidence.history.faults))
    for _, operations in sorted(chosen.by_resource("acquire", "renew", "release", "revoke").items()):
        of_client: dict[int, list[Op]] = defaultdict(list)
        for op in operations:
            if op.f == "acquire":
                of_client[client_of(op.process, header)].append(op)
        refusals = [
            refused
            for own in of_client.values()
            for refused in _between_grants(own)
            if refused[-1].over - refused[0].called > least
        ]
        if refusals:
            held = Covered(joined([*_held(operations, end_of), *surroundings.down(0)]))
            found = ((refused, _free(surroundings, refused, held)) for refused in refusals)
            yield from _longest((each for each in found if each[1] > least), header)


def _between_grants(own: Iterable[Op]) -> Iterator[Sequence[Op]]:
    """Yield a client's runs of consecutive refused acquires, by call."""
    runs = groupby(own, key=lambda op: op.outcome is Outcome.FAIL)
    return ([*run] for is_refused, run in runs if is_refused)


def _held(operations: Sequence[Op], end_of: Callable[[Op], float]) -> Iterator[Interval]:
    """Yield when a client held the lock, or was giving it back, by the clients' own accounts."""
    for op in operations:
        if op.f in ENDS:
            yield op.called, op.called if op.learned is None else op.learned
    for own in by_owner(operations).values():
        beliefs = Beliefs(own)
        for grant in granted(own):
            yield grant.sent, max(grant.over, min(beliefs.end(grant), end_of(grant)))


def _free(surroundings: Surroundings, refused: Sequence[Op], held: Covered) -> float:
    """Return how long the lock was free while a client was refused, in ns."""
    waited = joined((each for op in refused for each in surroundings.waited(op)), surroundings.breath)
    return sum(end - start - held.between(start, end) for start, end in waited)


def _longest(found: Iterable[_Starved], header: Header) -> Iterator[_Starved]:
    """Yield each client's longest stretch of starvation."""
    longest: dict[int, _Starved] = {}
    for refused, time in found:
        client = client_of(refused[0].process, header)
        if client not in longest or time > longest[client][1]:
            longest[client] = refused, time
    yield from longest.values()


def _refused_for_long(n: Narrator, conflict: Conflict) -> Story:
    last = conflict.accused
    refused, time = _times(n.evidence)[last.index]
    first, whom, lock = refused[0], n.whom(last), lock_on(last.resource)
    grace = n.lasting(n.history.header.grace)
    until = n.at(last.returned or last.called)
    often = "once" if len(refused) == 1 else times(len(refused))
    return Story(
        summary=f"{whom} was refused {lock} for {n.lasting(time)} in which nobody held it",
        steps=(
            step(
                f"{n.who(last)} asked for {lock} {often} from {n.at(first.called)} (line {first.lines[0]}) to"
                f" {until} (line {last.lines[-1]}), and was refused each time."
            ),
            step(
                f"By the clients' own accounts, nobody held it for {n.lasting(time)} of that time, and no"
                f" fault was in force on the lock service or on {whom}."
            ),
            step(f"That is more than {GRACES} times the time that the service may take ({grace})."),
        ),
        sentences=(
            f"{n.who(last)} asked for {lock} from {n.at(first.called)} to {until}.",
            f"Nobody held it for {n.lasting(time)} of that time, and no fault was in force.",
            "It was refused each time.",
        ),
    )


# because: the first refused acquire
REFUSED_FOR_LONG = Breach("starvation", "refused-for-long", _refused_for_long)

CHECKER = Checker("starvation", "observed", starved)

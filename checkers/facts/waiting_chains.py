"""Acquires that waited for a stuck lock one after the other, so that none in between can be left out.

Very many short waits may cover a stretch in which a lock is stuck. Judging it again without each of
them takes quadratic time, and the result is known: without one wait, no client waits for longer than a
breath, and the stretch falls into two. Leaving out the first wait of all, or the last one, leaves one of
these two in place. So if both are needed, all are, as long as an acquire does nothing but wait:

- it was refused, so it cannot have held anything;
- it is not the first operation of all, where a lease from before the run is taken to begin;
- it does not have the longest lease, which decides how long is too long;
- its owner has no hold that ends by a release, or whose lease depends on what the owner did later;
- and it waited without a break, so it appears in the chain only once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from checkers.facts.evidence import Evidence
from checkers.facts.intervals import links
from checkers.facts.surroundings import surroundings_of
from checkers.history.records import Op, Outcome


def waiting_chain(part: Evidence) -> Sequence[Op]:
    """Return, in order, the acquires that cannot be left out, in a part of a run that asks for one lock."""
    surroundings = surroundings_of(part.history.header, part.history.faults)
    waits = sorted(
        ((wait, op) for op in part.named("acquire") for wait in surroundings.waited(op)),
        key=lambda each: each[0],
    )
    breaks = Counter(op.index for _, op in waits)
    asked_more = _asked_more(part.history.operations)
    held = {op.owner for op in part.history.operations if op.f == "release" or _held_without_lease(op)}
    found = (waits[place][1] for place in links([wait for wait, _ in waits], surroundings.breath))
    return [
        op
        for op in found
        if op.outcome is Outcome.FAIL and breaks[op.index] == 1
        if op.index not in asked_more and op.owner not in held
    ]


def _asked_more(operations: Sequence[Op]) -> set[int]:
    """Return the index of the first operation, and of the one with the longest lease."""
    return {operations[0].index, max(operations, key=lambda op: op.ttl or 0).index}


def _held_without_lease(op: Op) -> bool:
    """Is it an acquire that was or may have been granted, without a lease?"""
    return op.f == "acquire" and op.outcome is not Outcome.FAIL and op.ttl is None

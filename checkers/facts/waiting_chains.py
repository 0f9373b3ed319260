"""Acquires that waited for a stuck lock one after the other, so that none in between can be left out.

A stretch in which a lock is stuck may be covered by very many short waits. To judge it again without each
of them takes quadratic time, and says what is known before: without one, nobody waits for longer than a
breath, and the stretch falls into two. Each of these is also there without the first wait of all, or
without the last one. So if both are needed, all are, as long as an acquire does nothing but wait:

- it was refused, so it can have held nothing;
- it is not the first operation of all, from which on a lease from before the run may last;
- it does not have the longest lease, which decides how long is too long;
- its owner has no hold that ends by a release, or whose lease depends on what the owner did later;
- and it waited without a break, so that it is not in two places of the chain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from checkers.facts.evidence import Evidence
from checkers.facts.intervals import links
from checkers.facts.surroundings import surroundings_of
from checkers.history.records import Op, Outcome


def waiting_chain(part: Evidence) -> Sequence[Op]:
    """Of a part of a run in which one lock is asked for, the acquires that are such links; in order."""
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
    """The first operation, and that with the longest lease."""
    return {operations[0].index, max(operations, key=lambda op: op.ttl or 0).index}


def _held_without_lease(op: Op) -> bool:
    """Was it granted, or may it have been, by an answer without a lease?"""
    return op.f == "acquire" and op.outcome is not Outcome.FAIL and op.ttl is None

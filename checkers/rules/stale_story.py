"""The story of a stale write, whatever shows that it came too late."""

from __future__ import annotations

from collections.abc import Iterable

from checkers.explain.fault_steps import fault_steps, faults_meanwhile, held_up_by
from checkers.explain.narrator import Narrator, Story
from checkers.explain.phrases import content
from checkers.history.records import WRITES, Op


def stale_story(n: Narrator, write: Op, newer: Op, proof: Iterable[str]) -> Story:
    """Say who held the lock, what held it up, who came between, and why it was too late."""
    fault = held_up_by(n, write)
    same = newer.token == write.token
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource} after"
            f" the storage had {had(newer)} with {'the same' if same else 'the newer'} token {newer.token}"
        ),
        steps=(
            *n.grant_steps(*n.granted(write)),
            *fault_steps(n, fault, write),
            *([] if same else n.grant_steps(*n.granted(newer))),
            *proof,
        ),
        fault=fault,
        meanwhile=faults_meanwhile(n, fault, write),
    )


def had(newer: Op) -> str:
    """What the storage had done with the newer token."""
    return f"accepted {content(newer.value)}" if newer.f in WRITES else "been fenced"


def took_the_older(write: Op, newer: Op) -> str:
    """The contradiction in which a proof ends."""
    if newer.f == "fence":
        return f"the storage accepted token {write.token} after it had been fenced with token {newer.token}"
    if newer.token == write.token:
        return f"the storage accepted token {write.token} twice"
    return (
        "outdated data replaced newer data: the storage accepted the older token"
        f" {write.token} after the newer token {newer.token}"
    )

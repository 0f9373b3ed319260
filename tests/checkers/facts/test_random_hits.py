"""What faults hit in random histories, against the definition operation by operation."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from checkers.facts.evidence import Evidence
from checkers.facts.hits import hazards_hit
from checkers.history.columns import Operations
from checkers.history.records import FaultEvent, Header, History
from checkers.verdict.coverage import coverage
from checkers.vocabulary.fault_kinds import KINDS
from checkers.vocabulary.hazards import Point
from tests.oracles.hits import Slow
from tests.support.brute_force import operation
from tests.support.differential import disagreements, random_histories
from tests.support.selection import seeds
from tests.support.small_histories import lock_history

COUNTED = {"pauses_past_lease", "grants_to_others", *(kind.count for kind in KINDS.values() if kind.count)}


def endangered_history(rng: random.Random) -> History:
    """Locks and writes of a few clients, and faults on owners, clients and servers."""
    operations = [
        replace(each, resource=rng.choice(["r0", "r0", "r1"]), process=rng.randint(0, 3))
        for each in lock_history(rng)
    ]
    for _ in range(rng.randint(0, 6)):
        called, returned = sorted((rng.randint(0, 40), rng.randint(0, 40)))
        f = rng.choice(["write", "write", "append", "read", "fence"])
        outcome = rng.choice(["ok", "ok", "fail", "info"])
        operations.append(
            operation(
                f, rng.randint(0, 3), called, returned, outcome, resource=rng.choice(["r0", "r1"]), token=1
            )
        )
    operations.sort(key=lambda each: each.called)
    faults = []
    for _ in range(rng.randint(1, 4)):
        began = rng.randint(0, 40)
        healed = rng.choice([None, *(began + rng.randint(0, 30) for _ in range(5))])
        named: dict[str, object] = {
            "kind": rng.choice(["pause", "pause", "delay", "kill", "partition"]),
            "target": rng.choice(["client:0", "client:1", "client:2", "storage", "lock:etcd-1", "other"]),
        }
        if rng.random() < 0.4:
            named |= {"owner": rng.choice("abcd"), "at": rng.choice([None, *Point, "list-read"])}
        if "owner" in named and rng.random() < 0.5:
            named["resource"] = rng.choice(["r0", "r1", "r2"])
        faults += [
            FaultEvent(time=time, state=state, evidence="", **named)
            for state, time in (("in force", began), ("healed", healed))
            if time is not None
        ]
    return History(
        header=Header(
            target="t", clients=rng.choice([None, 2, 3]), ttl=rng.choice([None, 5, 20]), require={}
        ),
        operations=tuple(replace(each, index=index) for index, each in enumerate(operations)),
        faults=tuple(sorted(faults, key=lambda each: each.time)),
    )


def one_by_one(history: History) -> dict[str, int]:
    slow = Slow(history)
    return slow.hazards() | slow.counts()


def as_judged(history: History) -> dict[str, int]:
    evidence = Evidence(history=history)
    counts = coverage(evidence)
    named = {str(cell): count for cell, count in hazards_hit(evidence).items()}
    return named | {name: counts[name] for name in COUNTED if counts.get(name)}


def on_columns(history: History) -> dict[str, int]:
    return as_judged(replace(history, operations=Operations.of(history.operations)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(3))
def test_hits_are_the_same_on_columns_and_one_by_one(seed: int) -> None:
    histories = random_histories(endangered_history, f"hazards {seed}")

    assert not disagreements(histories, one_by_one, on_columns, as_judged)

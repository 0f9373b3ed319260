"""Pauses of holders, counted on columns and operation by operation: both counts are the same."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from checkers.facts import narrowing as holds
from checkers.facts.evidence import Evidence
from checkers.history.columns import Operations
from checkers.history.records import FaultEvent, Header, History
from checkers.verdict.coverage import coverage
from tests.support.differential import disagreements, random_histories
from tests.support.pause_oracle import counts_of_pauses
from tests.support.selection import seeds
from tests.support.small_histories import lock_history


def paused_history(rng: random.Random) -> History:
    """Locks on two resources, and pauses of clients, of owners, of owners of one resource, and of no client."""
    operations = tuple(
        replace(
            op, resource=rng.choice(["r0", "r0", "r1"]), process=rng.choice([op.process, rng.randint(0, 9)])
        )
        for op in lock_history(rng)
    )
    faults = []
    for line in range(rng.randint(1, 4)):
        began = rng.randint(0, 40)
        healed = rng.choice([None, *(began + rng.randint(0, 20) for _ in range(5))])
        target = rng.choice(["client:0", "client:1", "client:2", "client:7", "storage"])
        named = {"owner": rng.choice("abcd")} if rng.random() < 0.5 else {}
        named |= {"resource": rng.choice(["r0", "r1", "r2"])} if named and rng.random() < 0.5 else {}
        for time, state in ((began, "in force"), (healed, "healed")):
            if time is not None:
                faults.append(
                    FaultEvent(
                        time=time,
                        kind="pause",
                        target=target,
                        state=state,
                        evidence="",
                        line=100 + line,
                        **named,
                    )
                )
    header = Header(target="t", clients=rng.choice([None, 2, 3]), require={})
    return History(
        header=header, operations=operations, faults=tuple(sorted(faults, key=lambda each: each.time))
    )


def one_by_one(history: History) -> dict[str, int]:
    past_lease, others = counts_of_pauses(history)
    return found({"pauses_past_lease": past_lease, "grants_to_others": others})


def as_judged(history: History) -> dict[str, int]:
    return found(coverage(Evidence(history=history)))


def on_columns(history: History) -> dict[str, int]:
    return as_judged(replace(history, operations=Operations.of(history.operations)))


def found(counts: dict[str, int]) -> dict[str, int]:
    return {name: counts[name] for name in ("pauses_past_lease", "grants_to_others") if counts[name]}


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(3))
def test_pauses_hit_the_same_holders_on_columns_and_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holds, "FEW", 0)
    histories = random_histories(paused_history, f"pauses {seed}")

    assert not disagreements(histories, one_by_one, on_columns, as_judged)

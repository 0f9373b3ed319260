"""The links that a chain of waiting acquires needs are found without trying each."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from checkers.explain import proof
from checkers.facts.evidence import Evidence
from checkers.facts.waiting_chains import waiting_chain
from checkers.history.records import Op, Outcome
from checkers.rules.stuck_locks import CHECKER, stuck_locks
from tests.support.examples import Cases
from tests.support.lock_requests import LEASE, fault, granted, op, refused, run
from tests.support.selection import seeds


def chain(*operations: Op, **more: object) -> list[int]:
    """When the links of a chain were called."""
    return [each.called for each in waiting_chain(run(*operations, **more))]


def test_an_acquire_whose_wait_fills_a_gap_is_a_link() -> None:
    assert chain(granted(0, 1), refused(4, 9), refused(9, 14, "2"), refused(14, 20, "3")) == [4, 9, 14]
    assert chain(granted(0, 1), refused(4, 9), refused(9, 10, "2"), refused(10, 20, "3")) == [4, 10]


def test_an_acquire_that_may_do_more_than_wait_is_no_link() -> None:
    rest = refused(9, 14, "2"), refused(14, 20, "3")

    assert chain(refused(4, 9), *rest) == [9, 14]  # the first of all
    assert chain(granted(0, 1), replace(refused(4, 9), ttl=LEASE + 1), *rest) == [9, 14]
    assert chain(granted(0, 1, "1", ttl=None), refused(4, 9), *rest) == [9, 14]
    assert chain(granted(0, 1), granted(4, 10, "1", attempt=9), *rest) == [9, 14]
    assert chain(granted(0, 1), op("release", "1", 1, 2, "ok"), refused(4, 9), *rest) == [9, 14]
    assert chain(granted(0, 1), refused(4, 9), *rest, faults=fault("client:1", 5, 5)) == [9, 14]


def some_waits(rng: random.Random) -> Evidence:
    """Some holds, and acquires that overlap, follow one another, or leave a gap."""
    operations, now = [], 0
    for owner in rng.sample("012", rng.randint(0, 2)):
        lease = rng.choice([LEASE, LEASE, 5, None])
        operations.append(op("acquire", owner, now, now + 1, rng.choice(["ok", "info"]), ttl=lease))
        if rng.random() < 0.5:
            operations.append(op("renew", owner, now + 1, now + 2, rng.choice(["ok", "info"])))
        now += rng.randint(0, 3)
    for _ in range(rng.randint(3, 16)):
        length = rng.choice([1, 2, 3, 5, 8])
        one = refused(now, now + length, rng.choice("123456789"))
        if rng.random() < 0.08:
            one = granted(now, now + length + 1, one.owner or "", attempt=now + length)
        operations.append(replace(one, ttl=5) if one.outcome is Outcome.FAIL and rng.random() < 0.1 else one)
        now += max(0, rng.choice([0, length - 2, length - 1, length, length + 1, length + 1, length + 2]))
    began = rng.randint(0, now)
    faults = fault(f"client:{rng.randint(1, 9)}", began, began + rng.randint(0, 4))
    return run(*operations, faults=faults if rng.random() < 0.4 else [], ttl=rng.choice([LEASE, LEASE, None]))


@pytest.mark.parametrize("seed", seeds(3))
def test_a_proof_that_is_a_chain_is_minimal(seed: int, cases: Cases, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "_MANY", 2)
    rng = random.Random(seed)
    chained = 0
    for _ in range(cases(3_000)):
        evidence = some_waits(rng)
        for conflict in stuck_locks(evidence):
            found = proof.prove(evidence, CHECKER, conflict, (conflict.accused, *conflict.because))
            if found is None:
                continue
            assert found.is_smallest
            chained += len(waiting_chain(proof.alone(evidence, found.operations))) > 1
            for one in found.operations:
                rest = [each for each in found.operations if each is not one]
                assert not rest or not list(stuck_locks(proof.alone(evidence, rest))), evidence

    assert chained > 0

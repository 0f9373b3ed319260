"""Clients that wait: starvation, killed holders, who waited for a stuck lock, and the chains of their waits."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from checkers.explain import proof
from checkers.facts.evidence import Evidence
from checkers.facts.intervals import joined, without
from checkers.facts.stuck_stretches import stretches, waiting_chain
from checkers.history.columns import Operations
from checkers.history.faults import client_of, faults_of
from checkers.history.records import FaultEvent, Op, Outcome
from checkers.rules.starvation import starved
from checkers.rules.stuck_locks import CHECKER, stuck_locks
from checkers.verdict.judge import judge
from checkers.vocabulary.verdict import Validity, Verdict
from tests.oracles import starvation
from tests.support.differential import CASES, disagreements, random_histories
from tests.support.events import call, recorded, struck
from tests.support.lock_requests import BREATH, GRACE, LEASE, fault, granted, op, refused, run, stuck
from tests.support.selection import Cases, seeds

ENDS = [
    ("release", "ok"),
    ("release", "ok"),
    ("release", "fail"),
    ("release", "info"),
    ("revoke", "ok"),
    ("renew", "fail"),
    ("renew", "ok"),
]
TARGETS = [("lock", "pause"), ("lock:redis-1", "kill"), ("storage", "kill")]


def refused_history(rng: random.Random) -> Evidence:
    """Two or three clients, of which some get the lock: none, one or two faults meanwhile."""
    clients = rng.choice([None, 2, 3])
    operations: list[Op] = []
    horizon = rng.choice([70, 100, 160])
    for client in range(clients or 3):
        now, process = rng.randint(0, 9), client
        is_favoured = rng.random() < 0.4
        while now < horizon:
            if rng.random() < (0.4 if is_favoured else 0.06):
                hold = _hold(rng, process, f"{process}{now}", now)
                now = max(each.called if each.learned is None else each.learned for each in hold)
                operations += hold
                if clients and any(each.returned is None for each in hold):
                    process += clients
            else:
                length = rng.choice([1, 2, 5, 12, 30])
                operations.append(_op(process, "acquire", f"{process}9", now, now + length, "fail"))
                now += length
            now += rng.choice([0, 0, BREATH, BREATH, BREATH + 1, 4])
    return run(*operations, faults=_faults(rng, horizon, clients), clients=clients)


def _hold(rng: random.Random, process: int, owner: str, now: int) -> list[Op]:
    """A grant, or an acquire without an answer; and how it ended, if it did."""
    returned = now + rng.choice([0, 1, 3])
    if rng.random() < 0.15:
        return [_op(process, "acquire", owner, now, returned, "info")]
    attempt = rng.choice([None, rng.randint(now, returned)])
    grant = _op(process, "acquire", owner, now, returned, "ok", attempt=attempt)
    called = returned + rng.choice([0, 1, 4, 9])
    ended = called + rng.choice([0, 1, 3])
    f, outcome = rng.choice(ENDS)
    return [grant, _op(process, f, owner, called, ended, outcome)]


def _op(process: int, f: str, owner: str, called: int, ended: int, outcome: str, **more: object) -> Op:
    return replace(op(f, owner, called, ended, outcome, **{"ttl": None, **more}), process=process)


def _faults(rng: random.Random, horizon: int, clients: int | None) -> list[FaultEvent]:
    targets = [
        *TARGETS,
        *((f"client:{client}", "pause") for client in range(clients or 2)),
        ("client:1", "kill"),
        ("client:0", "stop"),
    ]
    events: list[FaultEvent] = []
    for target, kind in rng.sample(targets, rng.choice([0, 0, 1, 2])):
        began = rng.randint(0, horizon)
        events += fault(target, began, rng.choice([None, began, began + 3, began + 20]), kind)
    return sorted(events, key=lambda event: event.time)


LEAST = 5 * GRACE


def retried(first: int, last: int, owner: str = "1") -> list[Op]:
    """A client that asks again as soon as it was refused."""
    return [refused(at, at + 1, owner) for at in range(first, last)]


def held(first: int, last: int, owner: str = "0") -> list[Op]:
    return [granted(first, first, owner, ttl=None), op("release", owner, last, last, "ok")]


def clients(*operations: Op, **more: object) -> list[int]:
    return [each.accused.process for each in starved(run(*operations, **more))]


@pytest.mark.parametrize(("last", "found"), [(LEAST, []), (LEAST + 1, [1])])
def test_a_client_that_is_refused_for_longer_than_five_graces_is_starved(last: int, found: list[int]) -> None:
    assert clients(*retried(0, last)) == found


@pytest.mark.parametrize(("length", "found"), [(10, []), (9, [1])])
def test_time_in_which_another_client_held_the_lock_does_not_count(length: int, found: list[int]) -> None:
    assert clients(*retried(0, LEAST + 10), *held(20, 20 + length)) == found


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_counting_starts_again_after_a_grant_or_a_lost_answer(outcome: str) -> None:
    own = op("acquire", "1", 30, 30, outcome)

    assert clients(*retried(0, 30), own, *retried(31, 70)) == []


@pytest.mark.parametrize(("gap", "found"), [(BREATH, [1]), (BREATH + 1, [])])
def test_a_breath_between_two_acquires_is_waiting(gap: int, found: list[int]) -> None:
    assert clients(*retried(0, 30), *retried(30 + gap, LEAST + 2)) == (found if gap > BREATH else [1])
    assert clients(*retried(0, 30), *retried(30 + gap, LEAST + 1)) == found


@pytest.mark.parametrize("target", ["lock", "client:1"])
def test_time_with_a_fault_on_the_service_or_the_client_does_not_count(target: str) -> None:
    assert clients(*retried(0, LEAST + 5), faults=fault(target, 10, 20, "partition")) == []
    assert clients(*retried(0, LEAST + 5), faults=fault("storage", 10, 20, "partition")) == [1]


def test_each_client_is_counted_once_and_the_lock_is_named() -> None:
    favoured = [each for at in range(0, 160, 8) for each in held(at, at + 2, f"{at}0")]
    require = {"stale_writes_attempted": 0}

    verdict = judge(run(*retried(0, 150), *retried(0, 160, "2"), *favoured, require=require).history)

    assert (verdict.validity, verdict.anomalies["starvation"]) == (Validity.VALID, 2)
    assert [finding.summary for finding in verdict.counted] == [
        "client 1 was refused the lock on r0 for 0.112 µs in which nobody held it",
        "client 2 was refused the lock on r0 for 0.120 µs in which nobody held it",
    ]


def test_agrees_with_the_definition_in_plain_form_and_on_columns(cases: Cases) -> None:
    def plain(evidence: Evidence) -> set[int]:
        header = evidence.history.header
        return {client_of(each.accused.process, header) for each in starved(evidence)}

    def on_columns(evidence: Evidence) -> set[int]:
        columns = Operations.of(evidence.history.operations, None)
        return plain(Evidence(history=replace(evidence.history, operations=columns)))

    def definition(evidence: Evidence) -> set[int]:
        history = evidence.history
        return starvation.starved(history.operations, history.header, faults_of(history.faults))

    histories = random_histories(refused_history, "refused", cases(CASES))

    assert not disagreements(histories, plain, on_columns, definition)


SECOND = 1_000_000_000


def grant(process: int, called: int, token: int) -> list[dict[str, Any]]:
    answer = {"token": token, "ttl": 2 * SECOND}
    return call(process, "acquire", called * SECOND, (called + 1) * SECOND, answer, owner=f"{process}-1")


def kill(time: int, target: str) -> dict[str, Any]:
    return struck("kill", target, time * SECOND, None)[0]


def verdict(*lines: dict[str, Any]) -> Verdict:
    return judge(recorded(*lines, require={"stale_writes_attempted": 0}, clients=2))


def test_the_kill_of_a_client_counts_although_it_has_no_end() -> None:
    assert verdict(*grant(0, 0, 1), kill(1, "client:0")).coverage["kills"] == 1
    assert verdict(*grant(0, 0, 1), kill(2, "client:0")).coverage["kills"] == 0  # its lease was over


def test_the_kill_of_a_server_counts_only_once_it_is_usable_again() -> None:
    assert verdict(*grant(0, 0, 1), kill(2, "lock")).coverage["kills"] == 0


def test_a_killed_holder_believes_nothing_any_more() -> None:
    found = verdict(*grant(0, 0, 1), kill(2, "client:0"), *grant(1, 6, 2))

    assert found.anomalies["double-belief"] == 0


def test_another_clients_kill_changes_no_belief() -> None:
    found = verdict(*grant(0, 0, 1), kill(2, "client:1"), *grant(1, 6, 2))

    assert found.anomalies["double-belief"] == 1


def test_a_kill_after_the_next_grant_comes_too_late() -> None:
    found = verdict(*grant(0, 0, 1), *grant(1, 6, 2), kill(8, "client:0"))

    assert found.anomalies["double-belief"] == 1


def test_the_last_to_wait_is_accused_the_holder_and_the_others_prove_it() -> None:
    evidence = run(granted(1, 2), refused(3, 9), refused(9, 14, "2"), refused(13, 20, "3"))
    grant, *others, last = evidence.history.operations

    (conflict,) = stuck_locks(evidence)

    assert conflict.accused == last
    assert conflict.because == (grant, *others)


def test_a_client_whose_wait_ended_as_the_stretch_began_is_not_named() -> None:
    (stretch,) = stretches(run(granted(1, 2), refused(3, 19), refused(4, 5, "2")))

    assert [each.owner for each in stretch.waiting] == ["1"]


def test_a_client_whose_wait_began_as_the_stretch_ended_is_not_named() -> None:
    (stretch,) = stretches(run(refused(5, 30), refused(19, 30, "2"), faults=fault("lock", 19, None)))

    assert (stretch.start, stretch.end) == (5, 19)
    assert [each.owner for each in stretch.waiting] == ["1"]


def test_a_grant_whose_attempt_is_unknown_shows_no_wait() -> None:
    asked = granted(5, 21)

    assert not stuck(asked, refused(30, 133), grace=100)
    assert stuck(replace(asked, attempt=20), refused(30, 133), grace=100) == [(24, 133)]


def test_an_acquire_that_was_refused_at_once_is_no_wait() -> None:
    assert not stuck(refused(5, 12), refused(13, 13, "3"), refused(14, 27, "2"))
    assert stuck(refused(5, 12), refused(13, 14, "3"), refused(14, 27, "2")) == [(5, 27)]


def test_a_renewal_sent_as_the_release_was_acknowledged_may_be_in_force() -> None:
    release, renewal = op("release", "0", 11, 12, "ok"), op("renew", "0", 12, 13, "ok")

    assert not stuck(granted(1, 2), release, renewal, refused(6, 25))
    assert stuck(granted(1, 2), release, refused(6, 25)) == [(6, 25)]


def test_a_client_that_was_killed_as_it_called_asked_no_longer() -> None:
    asked = op("acquire", "0", 1, None, "info", ttl=LEASE)

    assert stuck(asked, refused(3, 28), faults=fault("client:0", 1, None, "kill")) == [(14, 28)]


def test_a_stopped_client_asks_no_longer_once_its_process_has_ended() -> None:
    asked = op("acquire", "0", 1, None, "info", ttl=LEASE)

    assert stuck(asked, refused(6, 31), faults=fault("client:0", 1, 4, "stop")) == [(17, 31)]
    assert not stuck(asked, refused(6, 31), faults=fault("client:0", 1, None, "stop"))


def test_if_the_number_of_clients_is_unknown_so_is_who_was_killed() -> None:
    asked = op("acquire", "0", 1, None, "info", ttl=LEASE)

    assert not stuck(asked, refused(3, 99), faults=fault("client:0", 2, 4, "kill"), clients=None)


def test_the_shortest_lease_is_a_lease() -> None:
    assert stuck(refused(5, 17), ttl=1) == [(5, 17)]


def test_stretches_that_do_not_touch_stay_apart_and_leave_no_points() -> None:
    assert joined([(0, 1), (2, 3)]) == [(0, 1), (2, 3)]
    assert without([(0, 5)], [(2, 5)]) == [(0, 2)]


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
                others = stuck_locks(proof.alone(evidence, rest)) if rest else ()
                assert found.conflict.accused.index not in {each.accused.index for each in others}, evidence

    assert chained > 0

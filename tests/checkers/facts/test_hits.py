"""The hazards that a run has seen, by its history alone."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from checkers.facts.evidence import Evidence
from checkers.facts.hits import hazards_hit, sent_from
from checkers.history.columns import Operations
from checkers.history.records import FaultEvent, Header, History, Op
from checkers.verdict.coverage import coverage
from checkers.verdict.judge import judge
from checkers.vocabulary.fault_kinds import KINDS
from checkers.vocabulary.hazards import HazardTable, Point
from tests.oracles.hits import Slow
from tests.support.brute_force import operation
from tests.support.differential import disagreements, random_histories
from tests.support.selection import seeds
from tests.support.small_histories import lock_history

TTL = 20
CLIENTS = 10
COUNTED = {"pauses_past_lease", "grants_to_others", *(kind.count for kind in KINDS.values() if kind.count)}
RENEWS = 100  # process numbers of the threads that renew


def hold(client: int, called: int, returned: int, token: int) -> Op:
    return operation(
        "acquire", client, called, returned, owner=f"{client}-1", token=token, ttl=TTL, attempt=called + 1
    )


def write(client: int, called: int, returned: int | None, token: int, outcome: str = "ok") -> Op:
    return operation("write", client, called, returned, outcome, token=token, value=f"{client}.{called}")


FIRST = hold(1, 0, 5, token=33)
SECOND = hold(2, 3, 30, token=34)
OVER = operation("release", 1, 60, 61, owner="1-1")


def run(*operations: Op, began: int, healed: int | None, **fault: object) -> Evidence:
    ordered = sorted(operations, key=lambda each: each.called)
    named = {"kind": "pause", "target": "client:1", "evidence": "", **fault}
    moments = [("in force", began), *([] if healed is None else [("healed", healed)])]
    return Evidence(
        history=History(
            header=Header(target="t", ttl=TTL, clients=CLIENTS, require={}),
            operations=tuple(replace(each, index=index) for index, each in enumerate(ordered)),
            faults=tuple(FaultEvent(time=time, state=state, **named) for state, time in moments),
        )
    )


def hit(evidence: Evidence) -> list[str]:
    return [str(cell) for cell in hazards_hit(evidence)]


@pytest.mark.parametrize(
    ("began", "healed", "others", "expected"),
    [
        (10, 21, [], "before-write/before-expiry/holder"),  # the lease counts from the attempt at 1
        (10, 22, [], "before-write/expired/holder"),
        (10, 29, [SECOND], "before-write/expired/holder"),
        (10, 30, [SECOND], "before-write/regranted/holder"),
        (10, 39, [SECOND, write(2, 35, 40, 34)], "before-write/regranted/holder"),
        (10, 40, [SECOND, write(2, 35, 40, 34)], "before-write/superseded/holder"),
        (10, 40, [SECOND, write(2, 35, 40, 34, "fail")], "before-write/regranted/holder"),
        (10, 40, [SECOND, write(3, 35, 40, 34)], "before-write/regranted/holder"),  # not a successor's
        (10, 40, [hold(2, 3, 4, token=32)], "before-write/expired/holder"),  # an earlier hold
        (10, 40, [hold(2, 6, 30, token=32)], "before-write/regranted/holder"),  # later, by time
        (
            10,
            25,
            [operation("renew", 1 + RENEWS, 9, 12, owner="1-1", ttl=TTL)],
            "renewing/before-expiry/holder",
        ),
        (
            10,
            25,
            [operation("renew", 1 + RENEWS, 9, 26, owner="1-1", ttl=TTL)],
            "renewing/before-expiry/holder",
        ),
        (
            10,
            25,
            [operation("renew", 1 + RENEWS, 12, 26, owner="1-1", ttl=TTL)],
            "before-write/expired/holder",
        ),
    ],
)
def test_a_fault_ends_by_what_had_become_of_the_lock(
    began: int, healed: int, others: list[Op], expected: str
) -> None:
    assert hit(run(FIRST, write(1, 50, 51, 33), OVER, *others, began=began, healed=healed)) == [expected]


@pytest.mark.parametrize(
    ("moment", "point"),
    [
        (0, None),  # the request that was granted is sent at 1
        (1, "granted"),
        (4, "granted"),
        (5, "before-write"),
        (50, "write-sent"),
        (51, "before-release"),
        (59, "before-release"),
        (60, None),  # the release has been called
    ],
)
def test_a_fault_from_outside_begins_where_the_history_shows(moment: int, point: str | None) -> None:
    evidence = run(replace(FIRST, ttl=100), write(1, 50, 51, 33), OVER, began=moment, healed=moment)

    assert [name.split("/")[0] for name in hit(evidence)] == ([] if point is None else [point])


@pytest.mark.parametrize(
    ("moment", "others"),
    [
        (21, []),  # the lease was promised until then
        (15, [hold(2, 6, 15, token=34)]),
        (15, [hold(2, 6, 15, token=32)]),  # later, by time
    ],
)
def test_a_fault_that_begins_after_its_hold_was_lost_hits_nothing(moment: int, others: list[Op]) -> None:
    operations = (FIRST, write(1, 50, 51, 33), OVER, *others)

    assert hit(run(*operations, began=moment - 1, healed=55))
    assert not hit(run(*operations, began=moment, healed=55))
    assert not hit(run(*operations, began=moment, healed=55, owner="1-1", resource="r0", at="before-write"))


@pytest.mark.parametrize(
    ("called", "point"), [(0, "granted"), (1, "renewing"), (2, "renewing"), (4, "granted")]
)
def test_a_renewal_since_the_grant_counts_before_the_acquire_returns(called: int, point: str) -> None:
    """The request that was granted was sent at 1. A client that waits renews its lease, too."""
    renewal = operation("renew", 1 + RENEWS, called, 7, owner="1-1", ttl=TTL)
    evidence = run(FIRST, renewal, write(1, 50, 51, 33), OVER, began=3, healed=3)

    assert hit(evidence) == [f"{point}/before-expiry/holder"]


def test_a_holder_that_never_writes_is_hit_right_after_its_grant() -> None:
    assert hit(run(FIRST, OVER, began=10, healed=11)) == ["acquired/before-expiry/holder"]


def test_a_re_entrant_hold_is_hit_once_where_its_holder_was() -> None:
    again = replace(hold(1, 6, 9, token=33), ttl=TTL)

    evidence = run(FIRST, again, write(1, 60, 61, 33), began=12, healed=50)

    assert hit(evidence) == ["before-write/expired/holder"]
    assert list(hazards_hit(evidence).values()) == [1]


def test_a_fault_of_a_server_counts_also_if_it_names_an_owner() -> None:
    evidence = run(FIRST, began=8, healed=12, kind="kill", target="lock:etcd-1", owner="1-1", resource="r0")

    assert coverage(evidence)["kills"] == 1


def test_the_stop_point_that_the_nemesis_names_counts() -> None:
    named = {"owner": "1-1", "resource": "r0"}
    operations = (FIRST, write(1, 50, 51, 33), OVER)

    for at in Point:
        evidence = run(*operations, began=10, healed=11, at=at, **named)
        assert hit(evidence) == [f"{at}/before-expiry/holder"]
    listed = run(*operations, began=10, healed=11, at="list-read", **named)
    assert hit(listed) == ["before-write/before-expiry/holder"]


def test_an_acquire_that_failed_after_its_grant_was_a_hold() -> None:
    refused = operation("acquire", 1, 0, 45, "fail", owner="1-1", ttl=TTL)

    evidence = run(refused, SECOND, began=10, healed=44, at="granted", owner="1-1", resource="r0")

    assert hit(evidence) == ["granted/regranted/holder"]


def test_a_token_drawn_after_the_fault_hides_no_successor() -> None:
    late = operation("acquire", 1, 0, 45, owner="1-1", token=40, ttl=TTL)
    named: dict[str, Any] = {"began": 10, "healed": 44, "at": "granted", "owner": "1-1", "resource": "r0"}
    written, after = write(2, 35, 40, 34), replace(SECOND, attempt=11)

    assert hit(run(late, after, written, **named)) == ["granted/superseded/holder"]
    assert hit(run(late, SECOND, written, **named)) == ["granted/expired/holder"]


def test_a_client_that_waits_is_hit_as_a_waiter() -> None:
    waiting = replace(SECOND, attempt=29)
    evidence = run(FIRST, write(1, 50, 51, 33), waiting, OVER, began=10, healed=15, target="client:2")

    assert hit(evidence) == ["before-write/before-expiry/waiter"]


@pytest.mark.parametrize(
    ("kind", "target", "healed", "expected"),
    [
        ("pause", "lock:etcd-1", 15, "before-write/before-expiry/lock"),
        ("pause", "lock", 25, "before-write/expired/lock/delayed"),
        ("pause", "storage", 25, "before-write/expired/storage/delayed"),
        ("kill", "storage:postgres", 15, "before-write/before-expiry/storage/lost"),
        ("delay", "client:1", 25, "before-write/expired/holder/delayed"),
        ("partition", "client:1", 25, "before-write/expired/holder/lost"),
        ("kill", "client:1", None, "before-write/expired/holder/lost"),
        ("stop", "client:1", 15, "before-write/before-expiry/holder"),
    ],
)
def test_the_kind_of_a_fault_decides_what_becomes_of_messages(
    kind: str, target: str, healed: int | None, expected: str
) -> None:
    evidence = run(FIRST, write(1, 50, 51, 33), OVER, began=10, healed=healed, kind=kind, target=target)

    assert hit(evidence) == [expected]


def test_a_fault_that_was_not_seen_healed_does_not_count() -> None:
    assert hit(run(FIRST, OVER, began=10, healed=None)) == []


def test_a_run_misses_what_its_faults_could_have_hit() -> None:
    history = run(FIRST, write(1, 50, 51, 33), OVER, began=10, healed=25).history
    table = HazardTable(possible=["before-write/expired/holder", "granted/superseded/holder"], required=2)

    verdict = judge(replace(history, header=replace(history.header, hazards=table)))

    assert verdict.to_document()["hazards"] == {
        "hit": {"before-write/expired/holder": 1},
        "missed": ["granted/superseded/holder"],
        "possible": 2,
        "untried": 0,
        "unreached": [],
    }
    assert verdict.validity.word == "unknown"
    (reason,) = verdict.reasons
    assert reason == (
        "not exercised: 1 of 2 dangerous moments tried, but not granted/superseded/holder: run longer, or with faults"
    )


def test_a_run_whose_only_moment_no_client_came_to_tested_nothing() -> None:
    history = run(FIRST, write(1, 50, 51, 33), OVER, began=10, healed=25).history
    table = HazardTable(possible=[], required=1, unreached=[Point.GRANTED])

    verdict = judge(replace(history, header=replace(history.header, hazards=table, require={})))

    assert verdict.validity.word == "unknown"
    (reason,) = verdict.reasons
    assert reason == (
        "not exercised: no dangerous moment could be tried, because no client of this lock ever reported"
        ' "granted": report it in your class or program if it has that moment, or aim at another moment'
    )


@pytest.mark.parametrize(
    ("at", "earliest"), [("list-read", 90), ("before-write", 90), ("write-sent", 20), (None, 20)]
)
def test_a_pause_before_the_request_delays_when_it_can_have_been_sent(at: str | None, earliest: int) -> None:
    named: dict[str, Any] = {"owner": "1-1", "resource": "r0", "at": at} if at else {}
    append = operation("append", 1, 20, 100, token=33, element="x")
    evidence = run(replace(FIRST, ttl=50), append, began=30, healed=90, **named)

    assert sent_from(evidence).tolist() == [0, earliest]


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

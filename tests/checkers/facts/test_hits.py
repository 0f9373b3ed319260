"""The hazards that a run has seen, by its history alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkers.facts.evidence import Evidence
from checkers.facts.hits import hazards_hit, hits_of, sent_from
from checkers.history.records import FaultEvent, Header, History, Op
from checkers.verdict.coverage import coverage
from checkers.verdict.judge import judge
from checkers.vocabulary.hazards import HazardTable, Point
from tests.support.brute_force import operation

TTL = 20
CLIENTS = 10
GRANTED: dict[str, Any] = {"owner": "1-1", "resource": "r0", "at": "granted"}  # of faults
RENEWS = 100  # process numbers of the threads that renew


def hold(client: int, called: int, returned: int, token: int) -> Op:
    return operation(
        "acquire", client, called, returned, owner=f"{client}-1", token=token, ttl=TTL, attempt=called + 1
    )


def write(client: int, called: int, returned: int | None, token: int, outcome: str = "ok") -> Op:
    return operation("write", client, called, returned, outcome, token=token, value=f"{client}.{called}")


def read(called: int, returned: int) -> Op:
    return operation("read", 1, called, returned)


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


@pytest.mark.parametrize(
    ("others", "point"),
    [
        ([read(10, 12), write(1, 50, 51, 33)], "before-write"),
        ([read(40, 41), write(1, 50, 51, 33)], "acquired"),
        ([write(1, 10, 10, 33)], "before-release"),
    ],
)
def test_the_next_call_and_the_writes_so_far_show_the_point(others: list[Op], point: str) -> None:
    assert hit(run(FIRST, *others, began=10, healed=11)) == [f"{point}/before-expiry/holder"]


def test_a_holder_that_never_writes_is_hit_right_after_its_grant() -> None:
    assert hit(run(FIRST, OVER, began=10, healed=11)) == ["acquired/before-expiry/holder"]


@pytest.mark.parametrize(("moment", "point"), [(7, "granted"), (8, "granted"), (9, "before-write")])
def test_a_re_entrant_hold_is_hit_once_where_its_holder_was(moment: int, point: str) -> None:
    again = hold(1, 6, 9, token=33)

    evidence = run(FIRST, again, write(1, 60, 61, 33), began=moment, healed=50)

    assert {str(cell): count for cell, count in hazards_hit(evidence).items()} == {
        f"{point}/expired/holder": 1
    }


def test_of_a_re_entrant_hold_not_begun_yet_the_first_acquire_is_hit() -> None:
    first, again = replace(hold(1, 0, 15, token=33), attempt=None), hold(1, 16, 18, token=33)

    evidence = run(first, again, began=10, healed=21, **GRANTED)

    assert [each.hold for each in hits_of(evidence)[0].holds] == [0]


def test_two_acquires_of_an_owner_without_tokens_are_two_holds() -> None:
    first, again = replace(FIRST, token=None), replace(hold(1, 6, 9, token=33), token=None)

    assert list(hazards_hit(run(first, again, began=12, healed=15)).values()) == [2]


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

    evidence = run(refused, SECOND, began=10, healed=44, **GRANTED)

    assert hit(evidence) == ["granted/regranted/holder"]


@pytest.mark.parametrize(("moment", "is_hit"), [(9, False), (10, True), (44, True), (45, False)])
def test_an_acquire_that_failed_was_a_hold_while_it_was_open(moment: int, *, is_hit: bool) -> None:
    refused = operation("acquire", 1, 10, 45, "fail", owner="1-1", ttl=TTL)

    assert bool(hit(run(refused, began=moment, healed=50, **GRANTED))) == is_hit


@pytest.mark.parametrize(("called", "is_hit"), [(9, True), (10, False), (20, False), (21, True)])
def test_an_acquire_that_failed_was_a_hold_until_its_release(called: int, *, is_hit: bool) -> None:
    refused = operation("acquire", 1, 10, 45, "fail", owner="1-1", ttl=TTL)
    release = operation("release", 1 + RENEWS, called, called + 1, owner="1-1")

    assert bool(hit(run(refused, release, began=20, healed=50, **GRANTED))) == is_hit


@pytest.mark.parametrize(("moment", "others"), [(30, {1}), (31, set())])
def test_a_grant_that_returned_as_the_fault_began_was_given_meanwhile(moment: int, others: set[int]) -> None:
    refused = operation("acquire", 1, 0, 45, "fail", owner="1-1", ttl=TTL)

    (each,) = hits_of(run(refused, SECOND, began=moment, healed=44, **GRANTED))

    assert [set(found.others) for found in each.holds] == [others]


def test_a_token_drawn_after_the_fault_hides_no_successor() -> None:
    late = operation("acquire", 1, 0, 45, owner="1-1", token=40, ttl=TTL)
    named = {"began": 10, "healed": 44, **GRANTED}
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


@pytest.mark.parametrize(("healed", "count"), [(21, 0), (22, 1)])
def test_a_pause_outlives_a_lease_that_ended_before_it_was_healed(healed: int, count: int) -> None:
    assert coverage(run(FIRST, OVER, began=10, healed=healed))["pauses_past_lease"] == count


@pytest.mark.parametrize(("healed", "count"), [(14, 0), (15, 1)])
def test_a_pause_hits_an_execution_that_began_before_it_was_healed(healed: int, count: int) -> None:
    execute = operation("execute", 1, 15, 20, job="q0-1", owner="1-1")

    assert coverage(run(execute, began=10, healed=healed))["pauses"] == count


def test_a_fault_that_was_not_seen_healed_does_not_count() -> None:
    assert hit(run(FIRST, OVER, began=10, healed=None)) == []


def test_a_run_misses_what_its_faults_could_have_hit() -> None:
    history = run(FIRST, write(1, 50, 51, 33), OVER, began=10, healed=25).history
    table = HazardTable(
        possible=["before-write/expired/holder", "granted/superseded/holder"], required=2, untried=3
    )

    verdict = judge(replace(history, header=replace(history.header, hazards=table)))

    assert verdict.to_document()["hazards"] == {
        "hit": {"before-write/expired/holder": 1},
        "missed": ["granted/superseded/holder"],
        "possible": 2,
        "untried": 3,
        "unreached": [],
    }
    assert verdict.validity.word == "unknown"
    (reason,) = verdict.reasons
    assert reason == (
        "not tested: 1 of 5 dangerous moments tried, but not granted/superseded/holder;"
        ' hazards = "all" tries the rest: run longer, or with faults'
    )


def test_a_run_whose_only_moment_no_client_came_to_tested_nothing() -> None:
    history = run(FIRST, write(1, 50, 51, 33), OVER, began=10, healed=25).history
    table = HazardTable(possible=[], required=1, unreached=[Point.GRANTED])

    verdict = judge(replace(history, header=replace(history.header, hazards=table, require={})))

    assert verdict.validity.word == "unknown"
    (reason,) = verdict.reasons
    assert reason == (
        "not tested: no dangerous moment could be tried, because no client of this lock ever reported"
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


@pytest.mark.parametrize(
    ("called", "returned", "earliest"), [(20, 30, 20), (20, 31, 90), (30, 100, 90), (31, 100, 31)]
)
def test_a_pause_delays_only_what_was_in_flight_when_it_began(
    called: int, returned: int, earliest: int
) -> None:
    append = operation("append", 1, called, returned, token=33, element="x")
    named = GRANTED | {"at": "before-write"}
    history = run(replace(FIRST, ttl=50), append, began=30, healed=90, **named).history
    on_storage = run(began=10, healed=12, kind="delay", target="storage").history.faults

    evidence = Evidence(history=replace(history, faults=(*on_storage, *history.faults)))

    assert sent_from(evidence).tolist() == [0, earliest]

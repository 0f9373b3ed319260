"""What stopped clients did with their locks, and whether they ended by themselves."""

from dataclasses import replace
from typing import Any

import pytest

from checkers.history.faults import Fault
from checkers.history.records import FaultEvent, Header, History, Op, Outcome
from checkers.vocabulary.fault_kinds import words_of
from harness.report.handovers import by_stopped_holders, doubts
from tests.support.owned_operations import op


def stopped(owner: str, began: int, kind: str = "stop") -> Fault:
    return Fault(
        kind=kind,
        target="client:0",
        began=began,
        healed=90,
        owner=owner,
        resource="r0",
        lines=(),
        words=words_of(kind, None),
    )


@pytest.mark.parametrize(
    ("release", "next_grant", "waited"),
    [
        (Outcome.OK, op("acquire", "b", 2, 15), 5),
        (Outcome.OK, op("acquire", "b", 11, 15), 5),
        (Outcome.OK, op("acquire", "b", 11, 22), None),  # the lease had ended
        (Outcome.OK, op("acquire", "b", 11, 15, Outcome.FAIL), None),
        (Outcome.OK, replace(op("acquire", "b", 11, 15), resource="r1"), None),
        (Outcome.FAIL, op("acquire", "b", 11, 15), 5),
    ],
)
def test_a_stopped_holder_hands_its_lock_over(release: Outcome, next_grant: Op, waited: int | None) -> None:
    history = [
        replace(op("acquire", "a", 1, 2), ttl=20),
        op("release", "a", 10, 12, release),
        next_grant,
    ]

    assert list(by_stopped_holders(history, [stopped("a", 5)])) == [(history[1], waited, False)]


@pytest.mark.parametrize(
    "fault",
    [stopped("a", 11), stopped("b", 5), stopped("a", 5, "pause")],
    ids=["later", "no holder", "pause"],
)
def test_only_a_release_after_the_stop_of_its_holder_counts(fault: Fault) -> None:
    history = [op("acquire", "a", 1, 2), op("release", "a", 10, 12)]

    assert list(by_stopped_holders(history, [fault])) == []


def test_a_stopped_holder_without_a_release_kept_its_lock() -> None:
    history = [op("acquire", "a", 1, 2), op("acquire", "b", 11, 15), op("release", "b", 16, 17)]

    assert list(by_stopped_holders(history, [stopped("a", 5), stopped("c", 5)])) == [(None, None, False)]


@pytest.mark.parametrize(
    ("change", "in_vain"),
    [
        ({}, True),
        ({"called": 13}, False),  # it asked only after the release
        ({"returned": 40, "outcome": Outcome.FAIL}, True),
        ({"returned": 20, "outcome": Outcome.FAIL}, False),  # it gave up before the lease ended
        ({"resource": "r1"}, False),
    ],
)
def test_a_released_lock_that_stays_taken_was_waited_for_in_vain(
    change: dict[str, Any], *, in_vain: bool
) -> None:
    history = [
        replace(op("acquire", "a", 1, 2), ttl=20),
        op("release", "a", 10, 11),
        replace(op("acquire", "b", 3, 24), **change),
    ]

    assert [each.in_vain for each in by_stopped_holders(history, [stopped("a", 5)])] == [in_vain]


@pytest.mark.parametrize(("renewed", "in_vain"), [(4, False), (1, True)])
def test_a_renewed_lease_is_waited_for_until_its_later_end(renewed: int, *, in_vain: bool) -> None:
    history = [
        replace(op("acquire", "a", 1, 2), ttl=20),
        replace(op("renew", "a", renewed, 5), ttl=20),
        op("release", "a", 6, 7),
        op("acquire", "b", 3, 22),
    ]

    assert [each.in_vain for each in by_stopped_holders(history, [stopped("a", 5)])] == [in_vain]


def test_a_lease_that_is_nearly_over_shows_nothing_of_its_release() -> None:
    history = [
        replace(op("acquire", "a", 1, 2), ttl=20),
        op("release", "a", 18, 19),
        op("acquire", "b", 3, 24),
    ]

    assert [each.in_vain for each in by_stopped_holders(history, [stopped("a", 5)])] == [False]


def test_the_first_of_several_grants_ends_the_wait() -> None:
    history = [
        op("acquire", "a", 1, 2),
        op("release", "a", 10, 12),
        op("acquire", "b", 20, 22),
        op("acquire", "c", 13, 14),
        op("acquire", "d", 3, 9),
    ]

    assert [each.waited for each in by_stopped_holders(history, [stopped("a", 5)])] == [4]


def observed(began: int, *, was_killed: bool) -> tuple[FaultEvent, FaultEvent]:
    event = FaultEvent(
        time=began, kind="stop", target="client:0", state="in force", evidence="", owner="a", resource="r0"
    )
    return event, replace(event, time=90, state="healed", was_killed=was_killed)


def said(*, was_killed: bool, given_at: int) -> list[str]:
    history = History(
        header=Header(target="t"),
        operations=(
            replace(op("acquire", "a", 1, 2), ttl=20),
            replace(op("release", "a", 10, 11), lines=(7, 8)),
            op("acquire", "b", 3, given_at),
        ),
        faults=observed(5, was_killed=was_killed),
        notices=(),
        started=0,
    )
    return list(doubts(history))


def test_a_handover_in_order_raises_no_doubt() -> None:
    assert said(was_killed=False, given_at=14) == []


def test_a_stopped_client_that_hangs_or_keeps_its_lock_raises_doubts() -> None:
    killed, kept = said(was_killed=True, given_at=24)

    assert killed == "of 1 stopped client, 1 did not end within the grace, and had to be killed"
    assert kept == (
        "of 1 lock that stopped holders released, 1 stayed taken until the lease ended, while another client "
        "waited: such as r0, released at line 7"
    )

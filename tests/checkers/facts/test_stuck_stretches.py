"""Who waited for a stuck lock, what may have kept it, and which clients were stopped inside an acquire."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers.facts.stuck_stretches import stretches, waiting_chain
from checkers.facts.surroundings import GrantStops
from checkers.history.faults import faults_of
from checkers.history.records import FaultEvent, Op
from tests.support.lock_requests import LEASE, fault, granted, op, refused, run, stuck


def waiting(*operations: Op, faults: list[FaultEvent] | None = None) -> list[str | None]:
    """The owners that waited for a lock that was stuck once."""
    (stretch,) = stretches(run(*operations, faults=faults))
    return [each.owner for each in stretch.waiting]


@pytest.mark.parametrize(("count", "names"), [(31, 31), (32, 32), (33, 2), (40, 2)])
def test_of_many_that_waited_the_last_and_the_fewest_are_named(count: int, names: int) -> None:
    others = [refused(60 + nth, 62 + nth, f"{nth}") for nth in range(2, count + 1)]

    named = waiting(refused(5, 119), *others)

    assert len(named) == names
    assert (named[0], named[-1]) == ("1", f"{count}")


@pytest.mark.parametrize(("began", "healed"), [(1, 17), (5, 18), (4, 19)])
def test_a_client_that_was_stopped_meanwhile_did_not_wait(began: int, healed: int) -> None:
    faults = [*fault("lock", 19, None), *fault("client:1", began, healed)]

    assert waiting(refused(0, 30), granted(1, 2), refused(5, 30, "2"), faults=faults) == ["2"]


def test_a_session_whose_renewal_has_a_lease_ends_with_it() -> None:
    session = granted(1, 2, ttl=None)
    renewals = [op("renew", "0", at, at + 1, "ok", ttl=ttl) for at, ttl in ((3, None), (5, LEASE))]

    assert stuck(session, *renewals, refused(3, 23)) == [(9, 23)]
    assert not stuck(session, renewals[0], refused(3, 99), ttl=None)


def test_a_renewal_holds_from_when_it_was_sent_but_not_before_any_acquire() -> None:
    early, late = op("renew", "0", 5, 16, "ok"), op("renew", "0", 25, 26, "ok")
    of_a_session = op("renew", "0", 14, 15, "ok")

    assert stuck(granted(1, 2), late, refused(3, 23)) == [(5, 23)]
    assert stuck(early, granted(10, 11), granted(40, 41), refused(3, 39)) == [(19, 39)]
    assert stuck(of_a_session, granted(40, 41), refused(3, 30)) == [(3, 30)]


def test_a_request_may_be_processed_after_the_last_of_its_faults() -> None:
    asked = op("acquire", "0", 1, 2, "info", ttl=LEASE)
    first, second, third = (fault(f"client:{at}", at, healed) for at, healed in ((0, 8), (2, 20), (30, 40)))

    assert stuck(asked, refused(3, 49), faults=[*first, *second]) == [(33, 49)]
    assert stuck(asked, refused(3, 49), faults=[*second, *third]) == [(33, 49)]


def test_any_lease_is_longer_than_none() -> None:
    asked = refused(0, 1, "4"), replace(refused(4, 9), ttl=1), refused(9, 14, "2"), refused(14, 20, "3")

    assert [each.called for each in waiting_chain(run(*asked))] == [9, 14]


@pytest.mark.parametrize(
    ("resource", "owner", "at", "found"),
    [
        ("r0", "0", "granted", [2, 8]),
        ("r0", "0", "acquired", []),
        ("r0", "1", "granted", []),
        ("r0", None, "granted", []),
        ("r1", "0", "granted", []),
    ],
)
def test_a_stop_at_granted_names_the_hold_in_whose_acquire_it_was(
    resource: str, owner: str | None, at: str, found: list[int]
) -> None:
    moments = (1, 1), (2, 3), (8, 9), (9, 9)
    events = [
        replace(each, resource=resource, owner=owner, at=at)
        for moment in moments
        for each in fault("client:0", *moment)
    ]

    stops = GrantStops(faults_of(events))

    assert [each.began for each in stops.of(granted(2, 8))] == found
    assert not [*stops.of(granted(2, 8, "2"))]

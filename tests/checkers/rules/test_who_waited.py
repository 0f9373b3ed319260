"""Stuck locks: who waited, who held the lock last, and what counts at the very moment."""

from __future__ import annotations

from dataclasses import replace

from checkers.facts.intervals import joined, without
from checkers.facts.stuck_stretches import stretches
from checkers.rules.stuck_locks import stuck_locks
from tests.support.lock_requests import LEASE, fault, granted, op, refused, run, stuck


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


def test_if_the_number_of_clients_is_unknown_so_is_who_was_killed() -> None:
    asked = op("acquire", "0", 1, None, "info", ttl=LEASE)

    assert not stuck(asked, refused(3, 99), faults=fault("client:0", 2, 4, "kill"), clients=None)


def test_the_shortest_lease_is_a_lease() -> None:
    assert stuck(refused(5, 17), ttl=1) == [(5, 17)]


def test_stretches_that_do_not_touch_stay_apart_and_leave_no_points() -> None:
    assert joined([(0, 1), (2, 3)]) == [(0, 1), (2, 3)]
    assert without([(0, 5)], [(2, 5)]) == [(0, 2)]

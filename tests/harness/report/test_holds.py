"""Holds of a lock: how long each lease was promised, and believed in."""

from __future__ import annotations

from checkers.facts.grant_stops import GrantStops
from checkers.history.faults import faults_of
from checkers.history.records import History
from harness.report.holds import Holds
from harness.report.lanes import lanes
from tests.support.report_folder import STALE, recorded


def holds_of(run: History) -> Holds:
    return Holds(run.operations, lanes(run), GrantStops(faults_of(run.faults)))


def test_a_lease_lasts_until_the_end_that_its_last_renewal_promised() -> None:
    first, second = holds_of(recorded(STALE))

    assert (first.granted, first.promised, first.renewals) == (1010, 1120, 1)
    assert (second.granted, second.promised, second.ended) == (1130, 1225, None)


def test_a_client_believes_in_its_hold_until_it_releases_it() -> None:
    first, _ = holds_of(recorded(STALE))

    assert (first.leased_until, first.believed_until) == (1120, 1190)


def test_a_release_ends_a_lease_that_was_promised_for_longer() -> None:
    first, _ = holds_of(recorded(STALE.replace('"ttl":100', '"ttl":1000')))

    assert (first.promised, first.leased_until) == (1190, 1190)


STOP = """\
{"time":1126,"process":"nemesis","type":"info","f":"pause","value":{"target":"client:1","state":"in force","evidence":"T","owner":"b","resource":"r0","at":"granted"}}
{"time":1128,"process":"nemesis","type":"info","f":"pause","value":{"target":"client:1","state":"healed","evidence":"S","owner":"b","resource":"r0","at":"granted"}}
"""


def test_a_client_that_stops_between_grant_and_token_holds_from_then_on() -> None:
    answer = '{"time":1130,'
    first, second = holds_of(recorded(STALE.replace(answer, STOP + answer)))

    assert (second.held_from, second.granted) == (1126, 1130)
    assert first.held_from == first.granted


def test_a_lease_may_end_before_the_client_has_its_token() -> None:
    answer = '{"time":1130,'
    stopped = STALE.replace(answer, STOP + answer).replace('"token":2,"ttl":100,', '"token":2,"ttl":2,')
    _, second = holds_of(recorded(stopped))

    assert (second.held_from, second.leased_until, second.granted) == (1126, 1127, 1130)

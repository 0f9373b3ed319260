"""Holds of a lock: how long each lease was promised, and believed in."""

from __future__ import annotations

from harness.report.holds import Holds
from harness.report.lanes import lanes
from tests.support.report_folder import STALE, recorded


def test_a_lease_lasts_until_the_end_that_its_last_renewal_promised() -> None:
    run = recorded(STALE)

    first, second = Holds(run.operations, lanes(run))

    assert (first.granted, first.promised, first.renewals) == (1010, 1120, 1)
    assert (second.granted, second.promised, second.ended) == (1130, 1225, None)


def test_a_client_believes_in_its_hold_until_it_releases_it() -> None:
    run = recorded(STALE)

    first, _ = Holds(run.operations, lanes(run))

    assert (first.leased_until, first.believed_until) == (1120, 1190)


def test_a_release_ends_a_lease_that_was_promised_for_longer() -> None:
    run = recorded(STALE.replace('"ttl":100', '"ttl":1000'))

    first, _ = Holds(run.operations, lanes(run))

    assert (first.promised, first.leased_until) == (1190, 1190)

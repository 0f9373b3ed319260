"""Lanes of a timeline: clients, and the faults that hit them."""

from __future__ import annotations

from harness.report.bands import bands
from harness.report.lanes import lanes
from tests.support.report_folder import HEADER, STALE, recorded


def test_a_clients_renewing_thread_is_in_its_lane() -> None:
    clients = lanes(recorded(HEADER.replace('"clients":2', '"clients":5') + "\n"))

    assert [clients.lane(process) for process in (3, 8, 13, 18)] == [3, 3, 3, 3]


def test_a_history_that_names_no_clients_has_a_lane_for_each_process() -> None:
    clients = lanes(recorded(STALE.replace(',"clients":2', "")))

    assert clients.names == ("process 0", "process 1", "process 2")
    assert clients.lane(2) == 2


def test_only_a_fault_of_a_client_is_in_a_lane() -> None:
    clients = lanes(recorded(STALE))

    assert clients.target("client:1") == 1
    assert clients.target("client:1 → lock") == 1
    assert clients.target("client:9") is None
    assert clients.target("storage") is None


def test_a_fault_lasts_from_seen_in_force_to_seen_healed() -> None:
    run = recorded(STALE)

    (band,) = bands(run.faults, lanes(run))

    assert (band.kind, band.lane, band.start, band.end) == ("pause", 0, 1030, 1160)


def test_a_fault_that_was_never_seen_healed_has_no_end() -> None:
    run = recorded(STALE)

    (band,) = bands(run.faults[:1], lanes(run))

    assert band.end is None

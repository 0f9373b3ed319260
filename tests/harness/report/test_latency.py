"""How long calls took."""

from __future__ import annotations

from checkers.history.reader import Outcome
from harness.report.latency import UNANSWERED, points, summaries
from tests.support.report_folder import operation


def test_a_latency_point_stands_for_the_slowest_of_its_neighbours() -> None:
    operations = [
        operation(0, called=0, returned=5),
        operation(1, called=1, returned=90),
        operation(2, called=900_000, returned=900_010),
    ]

    assert points(operations, 0, 1_500_000)["write"] == [(1, 89), (900_000, 10)]


def test_an_unanswered_call_is_a_point_where_the_client_gave_up() -> None:
    operations = [operation(0, called=5, learned=25, outcome=Outcome.INFO)]

    assert points(operations, 0, 100) == {UNANSWERED: [(5, 20)]}


def test_latency_is_summed_up_over_answered_calls() -> None:
    operations = [
        operation(0, called=0, returned=10),
        operation(1, called=0, returned=30, outcome=Outcome.FAIL),
        operation(2, called=0, outcome=Outcome.INFO),
    ]

    (row,) = summaries(operations)

    assert (row.calls, row.ok, row.fail, row.info) == (3, 1, 1, 1)
    assert (row.median, row.slowest) == (30, 30)

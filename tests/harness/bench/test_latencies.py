"""Percentiles of latencies, where operations fail and where some were never sent."""

import math
from multiprocessing import Pipe

import pytest

from harness.bench.latencies import Latencies

MS = 1_000_000


def latencies(*taken: float, failed: int = 0) -> Latencies:
    made = Latencies(failed=failed)
    for each in taken:
        made.add(round(each * MS))
    return made


@pytest.mark.parametrize(("q", "ms"), [(0.01, 1), (0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100)])
def test_the_percentiles_of_one_to_a_hundred(q: float, ms: int) -> None:
    assert latencies(*range(1, 101)).quantile(q) == pytest.approx(ms * MS, rel=1e-3)


def test_a_failed_operation_has_taken_for_ever() -> None:
    found = latencies(*range(1, 91), failed=10)

    assert found.quantile(0.9) == pytest.approx(90 * MS, rel=1e-3)
    assert math.isinf(found.quantile(0.91))
    assert math.isinf(Latencies().quantile(0.5))


def test_an_operation_that_could_not_be_sent_has_taken_for_ever() -> None:
    found = latencies(1, 2, 3)
    found.unsent = 1

    assert found.quantile(0.75) == pytest.approx(3 * MS, rel=1e-3)
    assert math.isinf(found.quantile(1.0))
    assert (found.ok, found.all) == (3, 4)
    assert found.mean == pytest.approx(2 * MS)


def test_clients_are_joined() -> None:
    found = latencies(1, 2, failed=1)
    other = latencies(3, failed=2)
    other.error = "refused"

    ours, its = Pipe()
    its.send(other)
    found.merge(ours.recv())

    assert (found.ok, found.failed, found.error) == (3, 3, "refused")
    assert found.quantile(0.5) == pytest.approx(3 * MS, rel=1e-3)
    assert math.isinf(found.quantile(0.6))


def test_the_interval_of_a_percentile_is_between_its_neighbours() -> None:
    found = latencies(*range(1, 101)).interval(0.5)

    assert found.low == pytest.approx(40 * MS, rel=1e-3)
    assert found.high == pytest.approx(61 * MS, rel=1e-3)
    assert math.isinf(latencies(*range(1, 101)).interval(0.99).high)

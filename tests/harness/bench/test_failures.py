"""Loads of which operations fail: what they say of a bound, and whether their repetitions differ."""

import pytest

from harness.bench.intervals import Decision
from harness.bench.latencies import Latencies
from harness.bench.orders import BLOCKS, Measured
from harness.bench.results import LoadResults
from harness.bench.series import BenchSeries

MS = 1_000_000
LOAD = BenchSeries(operation="acquire", clients=1, resources=1)


def repetition(*taken: int, failed: int = 0) -> list[Measured]:
    """One repetition of one client, with the latencies that succeeded (ms)."""
    found = Latencies(failed=failed, blocks=[0] * BLOCKS)
    for each in taken:
        found.add(each * MS)
    return [Measured(latencies={"acquire": found})]


@pytest.mark.parametrize(
    ("repetitions", "noisy"),
    [
        ([repetition(10), repetition(10), repetition(11)], False),
        ([repetition(10), repetition(10), repetition(12)], True),
        ([repetition(10), repetition(10), repetition(failed=1)], True),
        ([repetition(failed=1), repetition(failed=2), repetition(failed=3)], False),
    ],
)
def test_repetitions_that_all_fail_do_not_differ(repetitions: list[list[Measured]], *, noisy: bool) -> None:
    results = LoadResults("acquire")
    for each in repetitions:
        results.add(each)

    assert results.document(LOAD, seconds=1).is_noisy is noisy


@pytest.mark.parametrize(
    ("taken", "failed", "decision"),
    [
        ([1] * 900, 100, Decision.MISSED),
        ([1] * 990, 10, Decision.UNDECIDED),
        ([1] * 1000, 0, Decision.MET),
        ([], 3, Decision.MISSED),
        ([], 0, Decision.UNDECIDED),  # nothing was sent
    ],
)
def test_failed_operations_miss_any_bound(taken: list[int], failed: int, decision: Decision) -> None:
    results = LoadResults("acquire")
    results.add(repetition(*taken, failed=failed))

    assert results.document(LOAD, seconds=1).own.p99.interval.at_most(5) is decision


def test_noise_does_not_excuse_what_always_fails() -> None:
    never = Latencies(failed=3).interval(0.99)

    assert never.widened(0.8).at_most(5 * MS) is Decision.MISSED

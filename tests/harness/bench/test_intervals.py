"""Intervals: literal ones, how often they hold the true value, and what they say of a bound."""

import math
import random

import pytest

from harness.bench.intervals import Decision, Interval, in_blocks, of_mean, ranks_of_quantile, spread


def test_the_interval_of_a_mean_is_students() -> None:
    found = of_mean([1, 2, 3, 4, 5])

    assert found.value == 3
    assert found.high - found.value == pytest.approx(2.7764 * math.sqrt(2.5 / 5), rel=2e-3)
    assert found.value - found.low == pytest.approx(found.high - found.value)


@pytest.mark.parametrize("freedom", [(1, 12.706), (2, 4.3027), (3, 3.1824), (9, 2.2622), (29, 2.0452)])
def test_students_distribution_is_that_of_the_tables(freedom: tuple[int, float]) -> None:
    degrees, quantile = freedom
    blocks = [0.0] * degrees + [1.0]
    deviation = math.sqrt(1 / (degrees + 1))  # of these blocks, as a sample

    assert of_mean(blocks).high - of_mean(blocks).value == pytest.approx(
        quantile * deviation / math.sqrt(degrees + 1), rel=2e-3
    )


@pytest.mark.parametrize("blocks", [[], [7.0]])
def test_fewer_than_two_blocks_have_no_bounds(blocks: list[float]) -> None:
    assert (of_mean(blocks).low, of_mean(blocks).high) == (-math.inf, math.inf)


def test_the_interval_of_a_mean_holds_the_mean_in_95_of_100_samples() -> None:
    rng = random.Random(1)
    held = [of_mean([rng.expovariate(1) + 1 for _ in range(30)]) for _ in range(2000)]

    assert 0.91 < sum(each.low <= 2 <= each.high for each in held) / 2000 < 0.97


@pytest.mark.parametrize(("q", "true"), [(0.5, 0.5), (0.99, 0.99)])
def test_the_ranks_hold_the_quantile_in_95_of_100_samples(q: float, true: float) -> None:
    rng, count, held = random.Random(2), 2000, 0
    low, high = ranks_of_quantile(q, count)
    for _ in range(1000):
        ordered = sorted(rng.random() for _ in range(count))
        held += ordered[low - 1] <= true <= (ordered[high - 1] if high <= count else math.inf)

    assert 0.93 < held / 1000 <= 1


def test_the_quantile_of_few_samples_has_no_upper_bound() -> None:
    assert ranks_of_quantile(0.99, 100)[1] > 100


@pytest.mark.parametrize(
    ("interval", "answer"),
    [
        (Interval(1, 2, 3), Decision.MET),
        (Interval(1, 2, 5), Decision.UNDECIDED),
        (Interval(4, 5, 6), Decision.UNDECIDED),
        (Interval(4.5, 5, 6), Decision.MISSED),
        (Interval(1, math.inf, math.inf), Decision.UNDECIDED),
    ],
)
def test_at_most_four(interval: Interval, answer: Decision) -> None:
    assert interval.at_most(4) is answer


@pytest.mark.parametrize(
    ("interval", "answer"),
    [
        (Interval(4, 5, 6), Decision.MET),
        (Interval(3, 5, 6), Decision.UNDECIDED),
        (Interval(1, 2, 4), Decision.UNDECIDED),
        (Interval(1, 2, 3.9), Decision.MISSED),
    ],
)
def test_at_least_four(interval: Interval, answer: Decision) -> None:
    assert interval.at_least(4) is answer


def test_blocks_are_means_of_neighbours() -> None:
    assert in_blocks([1, 3, 5, 7, 9, 11, 100], 3) == [2, 6, 10]
    assert in_blocks([1, 3], 3) == [1, 3]


def test_the_spread_is_a_share_of_the_middle_one() -> None:
    assert spread([90, 100, 120]) == pytest.approx(0.3)
    assert spread([0, 0, 0]) == 0

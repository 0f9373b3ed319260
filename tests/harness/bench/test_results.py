"""What the repetitions of a load found, joined: rates by blocks, and what each fence adds."""

import msgspec
import numpy as np
import pytest

from harness.bench.document import RoundsDocument
from harness.bench.latencies import Latencies
from harness.bench.orders import BLOCKS, Measured, Writing
from harness.bench.results import LoadResults, rounds_document
from harness.bench.series import PLAIN, BenchSeries, RoundsSeries

MS = 1_000_000
FENCED = Writing(fencing="upsert", logged=False)
RAISES = Writing(fencing="upsert", logged=True, raises_mark=True)
WRITES = Latencies(ok=60)
SERIES = RoundsSeries(clients=1, writings=(PLAIN, FENCED, RAISES))


def repetition(plain: float, fenced: float, computed: float = 0.1, rounds: int = 20) -> np.ndarray:
    """Rounds that all take the same (ms)."""
    ways = [[plain, computed], [fenced, 2 * computed], [1, computed]]
    return np.array([ways] * rounds, dtype=np.float64).reshape(-1, 3, 2) * MS


def test_a_fence_adds_the_mean_difference_of_its_rounds() -> None:
    found = rounds_document(
        SERIES, [repetition(1, 1.5), repetition(1.1, 1.5), repetition(1, 1.4)], WRITES, []
    )
    plain, fenced, raises = found.writings

    assert found.rounds == 60
    assert (plain.mean, fenced.mean) == pytest.approx((1.0333, 1.4667))
    assert (plain.processor, fenced.processor) == (0.1, 0.2)
    assert fenced.overhead is not None
    assert fenced.overhead.value == pytest.approx(0.4333)
    assert fenced.median_overhead == pytest.approx(0.4)
    assert plain.overhead is None
    assert raises.overhead is None  # it writes nothing
    assert msgspec.json.decode(msgspec.json.encode(found), type=RoundsDocument) == found


def test_ways_whose_medians_differ_too_much_are_noisy() -> None:
    found = rounds_document(
        SERIES, [repetition(1, 1.5), repetition(1.1, 1.5), repetition(1, 1.8)], WRITES, []
    )

    assert [each.is_noisy for each in found.writings] == [False, True, False]


def test_a_repetition_without_rounds_is_noisy() -> None:
    found = rounds_document(SERIES, [repetition(1, 2), repetition(1, 2, rounds=0)], WRITES, [])

    assert found.rounds == 20
    assert all(each.is_noisy for each in found.writings)


def test_no_rounds_at_all_show_nothing() -> None:
    found = rounds_document(SERIES, [repetition(1, 2, rounds=0)] * 3, WRITES, [])

    assert found.rounds == 0
    assert [(each.overhead, each.processor) for each in found.writings] == [(None, None)] * 3


def test_writes_without_success_are_counted() -> None:
    writes = Latencies(ok=60, failed=2, unknown=1, error="no answer in time")
    found = rounds_document(SERIES, [repetition(1, 2)], writes, [])

    assert (found.lost, found.error) == (3, "no answer in time")


def test_the_tools_difference_is_known_for_each_repetition() -> None:
    native = [{"none": 1.0, "upsert": 1.25}, {"none": 1.5, "upsert": 2.0}]
    found = rounds_document(SERIES, [repetition(1, 2)], WRITES, native)

    assert found.native == {"none": 1.25, "upsert": 1.625}
    assert found.native_overheads("upsert") == [0.25, 0.5]
    assert found.native_overheads("unknown") == []


def measured(ok: int, block: int) -> Measured:
    """A client whose operations of 1 ms all ended in one block."""
    latencies = Latencies(blocks=[ok * (each == block) for each in range(BLOCKS)])
    for _ in range(ok):
        latencies.add(MS)
    return Measured(latencies={"acquire": latencies})


def test_the_rate_is_the_mean_of_all_blocks_of_all_clients() -> None:
    results = LoadResults("acquire")
    for _ in range(3):
        results.add([measured(10, 0), measured(30, 9)])
    found = results.document(BenchSeries(operation="acquire", clients=2, resources=2), seconds=2)

    assert found.rate.value == 20
    assert found.own.count == 120
    assert found.medians == pytest.approx([1.0] * 3, rel=0.001)
    assert not found.is_noisy


def test_a_load_without_any_answer_has_a_rate_of_nothing() -> None:
    results = LoadResults("acquire")
    results.add([Measured(latencies={})])
    found = results.document(BenchSeries(operation="acquire", clients=1, resources=1), seconds=1)

    assert (found.rate.value, found.own.count, found.is_noisy) == (0, 0, True)

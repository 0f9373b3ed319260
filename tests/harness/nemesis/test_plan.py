"""The plan of faults: the same for the same seed, and within the run."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.nemesis.failover import FailoverSpec
from harness.nemesis.kill import KillSpec
from harness.nemesis.partition import PartitionSpec
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import plan

SECOND = 1_000_000_000
TTL = 2 * SECOND
OUTSIDE = PauseSpec(kind="pause", target="holder", every="3s", lasts="1.2 ttl")
CUT = PartitionSpec.model_validate(
    {"kind": "partition", "target": "client:1", "from": "both", "every": "4s", "lasts": "1s"}
)
AIMED = PauseSpec(kind="pause", target="holder", at="before-write", until="superseded")
FAILOVER = FailoverSpec(kind="failover", target="lock", held="2s")
KILL = KillSpec(kind="kill", target="storage", every="5s", lasts="1s")
ONCE = KillSpec(kind="kill", target="lock", lasts="1s")


@given(st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_plan(seed: int) -> None:
    faults = (OUTSIDE, CUT, AIMED, FAILOVER, KILL, ONCE)

    assert plan(faults, seed, TTL, 20 * SECOND) == plan(faults, seed, TTL, 20 * SECOND)


def test_another_seed_gives_other_moments() -> None:
    assert len({plan((OUTSIDE,), seed, TTL, 20 * SECOND)[0].moments for seed in range(20)}) == 20


@given(st.integers(0, 2**32), st.integers(4, 60))
def test_each_fault_ends_before_the_next_and_before_the_run(seed: int, seconds: int) -> None:
    duration = seconds * SECOND
    (planned,) = plan((CUT,), seed, TTL, duration)

    assert len(planned.moments) == seconds // 4
    for stretch, moment in enumerate(planned.moments):
        assert 4 * stretch * SECOND <= moment
        assert moment + SECOND <= min(4 * (stretch + 1) * SECOND, duration)


@given(st.integers(0, 2**32), st.sampled_from([FAILOVER, ONCE]))
def test_a_single_server_fault_is_in_the_second_fifth(seed: int, fault: FailoverSpec | KillSpec) -> None:
    (planned,) = plan((fault,), seed, TTL, 20 * SECOND)

    (moment,) = planned.moments
    assert 4 * SECOND <= moment < 8 * SECOND


def test_a_fault_at_a_stop_point_has_no_moments() -> None:
    (planned,) = plan((AIMED,), 7, TTL, 20 * SECOND)

    assert (planned.at, planned.moments) == ("before-write", ())


def test_a_fault_on_servers_strikes_at_a_stop_point_once_in_each_interval() -> None:
    aimed = KillSpec(kind="kill", target="lock:leader", at="write-sent", every="5s", lasts="1s")

    (planned,) = plan((aimed,), 7, TTL, 20 * SECOND)

    assert planned == replace(plan((KILL,), 7, TTL, 20 * SECOND)[0], target="lock:leader", at="write-sent")


@pytest.mark.parametrize("seconds", [1, 2, 3])
def test_a_run_shorter_than_one_interval_has_no_outside_fault(seconds: int) -> None:
    (planned,) = plan((CUT,), 7, TTL, seconds * SECOND)

    assert planned.moments == ()

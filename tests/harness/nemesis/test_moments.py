"""When faults begin: as the seed draws it, or as a lock's state has it that clients publish."""

import multiprocessing
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.clients.shared_state import SharedProgress, SharedState
from harness.core.errors import ConfigurationError
from harness.nemesis.failover import FailoverSpec
from harness.nemesis.kill import KillSpec
from harness.nemesis.moments import ENDING, holders
from harness.nemesis.nemesis import Nemesis, latest_begin
from harness.nemesis.partition import PartitionSpec
from harness.nemesis.pause import PauseSpec
from harness.nemesis.plan import Observer, PlanLog, PlannedFault, plan
from harness.nemesis.reach import FaultReach
from harness.spec.reading import load_text
from tests.support.target_files import SMALL
from tests.support.waiting import wait_for

SECOND = 1_000_000_000
RESOURCES = ("r0", "r1")


@pytest.fixture
def state() -> SharedState:
    return SharedState.create(multiprocessing.get_context("forkserver"), 4, 2, 0)


def progress(state: SharedState, client: int) -> SharedProgress:
    return SharedProgress(state, client, RESOURCES)


def test_the_second_waiter_of_the_same_resource_counts(state: SharedState) -> None:
    progress(state, 0).reached("acquired", "r0", "0-1", 7)
    progress(state, 1).waiting("r0")
    progress(state, 2).waiting("r1")
    assert [*holders(state, "second-waiter")] == []

    progress(state, 3).waiting("r0")
    assert [*holders(state, "second-waiter")] == [(0, 0)]

    progress(state, 3).exited()  # it gave up
    assert [*holders(state, "second-waiter")] == []


def test_a_waiter_that_is_granted_the_lock_waits_no_longer(state: SharedState) -> None:
    for client in (1, 2):
        progress(state, client).waiting("r0")
    progress(state, 2).reached("granted", "r0", "2-1", -1)

    assert state.waiting_for(0) == 1
    assert [*holders(state, "second-waiter")] == []


def test_a_lease_is_ending_shortly_before_its_end(state: SharedState) -> None:
    progress(state, 0).reached("acquired", "r0", "0-1", 7)
    assert [*holders(state, "lease-ending")] == []  # its end is not known

    progress(state, 0).promised(time.monotonic_ns() + 1000 * SECOND)
    assert [*holders(state, "lease-ending")] == []

    progress(state, 0).promised(time.monotonic_ns() + ENDING)
    assert [*holders(state, "lease-ending")] == [(0, 0)]

    progress(state, 0).promised(time.monotonic_ns())
    assert [*holders(state, "lease-ending")] == []


def test_the_lease_of_an_earlier_hold_does_not_count(state: SharedState) -> None:
    progress(state, 0).promised(time.monotonic_ns() + ENDING)
    progress(state, 0).waiting("r0")
    progress(state, 0).reached("acquired", "r0", "0-2", 8)

    assert [*holders(state, "lease-ending")] == []


@pytest.fixture
def sleepers() -> Iterator[list[psutil.Process]]:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    started = [subprocess.Popen(command) for _ in range(4)]
    yield [psutil.Process(each.pid) for each in started]
    for each in started:
        each.kill()
        each.wait()


def nemesis_over(state: SharedState, processes: list[psutil.Process], fault: PauseSpec) -> Nemesis:
    log = PlanLog(
        seed=1,
        started=time.monotonic_ns(),
        duration=600 * SECOND,
        planned=(PlannedFault(kind="pause", target=fault.target, at=None, moments=(0,)),),
        save=lambda _document: None,
    )
    observer = Observer(log=log, record=lambda _event: None, notify=lambda _event: None)
    reach = FaultReach(cluster=None, sides={}, processes=processes)  # a pause of a client reaches no server
    return Nemesis(
        faults=(fault,), ttl=SECOND, state=state, resources=RESOURCES, reach=reach, observer=observer
    )


def test_a_fault_begins_once_its_moment_has_come(state: SharedState, sleepers: Any) -> None:
    fault = PauseSpec(kind="pause", target="holder", every="60s", lasts="10ms", when="second-waiter")
    for client in (0, 1):
        progress(state, client).reached("acquired", f"r{client}", f"{client}-1", 7)
    progress(state, 2).waiting("r1")
    with nemesis_over(state, sleepers, fault) as nemesis:
        early = wait_for(lambda: bool(nemesis.log.observed), 0.2)
        came = time.monotonic_ns()
        progress(state, 3).waiting("r1")
        assert wait_for(lambda: nemesis.log.observed and nemesis.log.observed[0].healed)
    nemesis.check()

    (seen,) = nemesis.log.observed
    assert not early
    assert seen.target == "client:1"
    assert seen.in_force > came


SECOND_WAITER = 'when = "second-waiter"'
ENDING_LEASE = 'when = "lease-ending"'
CUT = 'kind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "8s"\nlasts = "3s"\n'
STORAGE = 'kind = "kill"\ntarget = "storage"\nevery = "8s"\nlasts = "3s"\n'
LOCK = 'kind = "pause"\ntarget = "lock:leader"\nevery = "8s"\nlasts = "3s"\n'
PAUSE = 'kind = "pause"\ntarget = "holder"\nevery = "8s"\nlasts = "3s"\n'
KILL = 'kind = "kill"\ntarget = "holder"\nat = "acquired"\n'


def text(*faults: str, clients: int = 3) -> str:
    sections = "".join(f"[[faults]]\n{fault}\n" for fault in faults)
    return f"{SMALL}\n[workload]\nclients = {clients}\n{sections}"


@pytest.mark.parametrize(
    "faults",
    [
        (STORAGE + SECOND_WAITER,),
        (CUT, STORAGE + ENDING_LEASE),
        (LOCK, PAUSE + ENDING_LEASE),
        (LOCK, CUT + ENDING_LEASE, STORAGE + SECOND_WAITER),
    ],
)
def test_faults_on_clients_and_servers_wait_for_a_moment(faults: tuple[str, ...]) -> None:
    assert len(load_text(text(*faults), "t.toml").faults) == len(faults)


@pytest.mark.parametrize(
    ("faults", "why"),
    [
        ((STORAGE + ENDING_LEASE,), "is renewed 3 times; add another fault"),
        ((CUT, PAUSE + ENDING_LEASE), "is renewed 3 times; add another fault"),
        ((KILL + SECOND_WAITER,), "a stop point is itself a moment"),
    ],
)
def test_a_moment_that_never_comes_is_refused(faults: tuple[str, ...], why: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"t.toml:\d+: faults.\d.when = .*{why}"):
        load_text(text(*faults), "t.toml")


def test_two_clients_have_no_second_waiter() -> None:
    with pytest.raises(ConfigurationError, match="never happens with 2 clients"):
        load_text(text(STORAGE + SECOND_WAITER, clients=2), "t.toml")


@pytest.mark.parametrize(
    ("fault", "latest"),
    [
        ('kind = "kill"\ntarget = "storage"\nat = "acquired"\nevery = "2s"\nlasts = "1s"', 19.0),
        ('kind = "pause"\ntarget = "storage"\nat = "before-write"\nuntil = "superseded"', 17.0),
        ('kind = "pause"\ntarget = "holder"\nat = "acquired"\nlasts = "1s"', 17.0),
        ('kind = "kill"\ntarget = "storage"\nevery = "2s"\nlasts = "1s"', 19.0),
    ],
)
def test_only_faults_that_wait_for_another_holder_end_their_stops_early(fault: str, latest: float) -> None:
    (spec,) = load_text(text(fault), "t.toml").faults

    assert latest_begin(spec, 20 * SECOND, 2 * SECOND) == latest * SECOND


TTL = 2 * SECOND
OUTSIDE = PauseSpec(kind="pause", target="holder", every="3s", lasts="1.2 ttl")
LOCK_CUT = PartitionSpec.model_validate(
    {"kind": "partition", "target": "client:1", "from": "both", "every": "4s", "lasts": "1s"}
)
AIMED = PauseSpec(kind="pause", target="holder", at="before-write", until="superseded")
FAILOVER = FailoverSpec(kind="failover", target="lock", held="2s")
CLIENT_KILL = KillSpec(kind="kill", target="storage", every="5s", lasts="1s")
ONCE = KillSpec(kind="kill", target="lock", lasts="1s")


@given(st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_plan(seed: int) -> None:
    faults = (OUTSIDE, LOCK_CUT, AIMED, FAILOVER, CLIENT_KILL, ONCE)

    assert plan(faults, seed, TTL, 20 * SECOND) == plan(faults, seed, TTL, 20 * SECOND)


def test_another_seed_gives_other_moments() -> None:
    assert len({plan((OUTSIDE,), seed, TTL, 20 * SECOND)[0].moments for seed in range(20)}) == 20


@given(st.integers(0, 2**32), st.integers(4, 60))
def test_each_fault_ends_before_the_next_and_before_the_run(seed: int, seconds: int) -> None:
    duration = seconds * SECOND
    (planned,) = plan((LOCK_CUT,), seed, TTL, duration)

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

    assert planned == replace(
        plan((CLIENT_KILL,), 7, TTL, 20 * SECOND)[0], target="lock:leader", at="write-sent"
    )


@pytest.mark.parametrize("seconds", [1, 2, 3])
def test_a_run_shorter_than_one_interval_has_no_outside_fault(seconds: int) -> None:
    (planned,) = plan((LOCK_CUT,), 7, TTL, seconds * SECOND)

    assert planned.moments == ()

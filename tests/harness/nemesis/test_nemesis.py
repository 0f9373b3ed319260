"""Pauses of real processes: observed in force, observed healed, and none left stopped."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from psutil import Process

from harness.clients import pool
from harness.clients.shared_state import SharedProgress, SharedState
from harness.core.errors import FaultNotInstalledError
from harness.nemesis.nemesis import Nemesis
from harness.nemesis.pause import PauseSpec, pause
from harness.nemesis.plan import Observer, PlanLog, plan
from harness.nemesis.reach import FaultReach
from harness.processes.process_tree import end
from tests.support.waiting import PATIENCE, wait_for

SECOND = 1_000_000_000
TTL = SECOND // 5
HOLDER = PauseSpec(kind="pause", target="holder", at="before-write", until="superseded")


@pytest.fixture
def sleeper() -> Iterator[Process]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


def test_a_pause_stops_and_continues_a_process_with_evidence(sleeper: Process) -> None:
    with pause(sleeper, "client:0") as fault:
        assert sleeper.status() == psutil.STATUS_STOPPED
        assert str(sleeper.pid) in fault.evidence
        assert fault.healed == ""

    assert sleeper.status() != psutil.STATUS_STOPPED
    assert str(sleeper.pid) in fault.healed


TICKS = """
import time
while True:
    print(time.monotonic_ns(), flush=True)
    time.sleep(0.0005)
"""


def test_a_pause_ends_before_the_process_does_anything_more() -> None:
    with subprocess.Popen([sys.executable, "-c", TICKS], stdout=subprocess.PIPE, text=True) as ticking:
        ticks = [int(ticking.stdout.readline())]
        with pause(psutil.Process(ticking.pid), "client:0") as fault:
            stopped = time.monotonic_ns()
            assert fault.until is None
        while ticks[-1] <= stopped:
            ticks.append(int(ticking.stdout.readline()))
        ticking.kill()

    assert stopped <= fault.until <= ticks[-1]


STARTS_OTHERS = """
import subprocess, sys, threading, time
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
subprocess.run(["sh", "-c", "setsid sleep 60; true"])
"""


@pytest.fixture
def ancestor() -> Iterator[Process]:
    """A process with a thread, a child, and a grandchild in its own session."""
    process = subprocess.Popen([sys.executable, "-c", STARTS_OTHERS])
    head = psutil.Process(process.pid)
    assert wait_for(lambda: "sleep" in [each.name() for each in head.children(recursive=True)])
    yield head
    end(head)
    process.wait()


def test_a_pause_stops_and_continues_child_processes(ancestor: Process) -> None:
    everybody = [ancestor, *ancestor.children(recursive=True)]

    with pause(ancestor, "client:0") as fault:
        assert [each.status() for each in everybody] == [psutil.STATUS_STOPPED] * 3
        assert all(str(each.pid) in fault.evidence for each in everybody)

    assert psutil.STATUS_STOPPED not in [each.status() for each in everybody]
    assert all(str(each.pid) in fault.healed for each in everybody)


def test_a_process_is_killed_with_its_stopped_children(ancestor: Process) -> None:
    everybody = [ancestor, *ancestor.children(recursive=True)]
    everybody[1].suspend()

    end(ancestor)

    assert wait_for(lambda: all(not each.is_running() or each.status() == "zombie" for each in everybody))


def test_a_process_continues_even_if_the_block_raises(sleeper: Process) -> None:
    with pytest.raises(ZeroDivisionError), pause(sleeper, "client:0"):
        raise ZeroDivisionError

    assert wait_for(lambda: sleeper.status() != psutil.STATUS_STOPPED)


def test_a_process_that_stops_itself_is_waited_for(sleeper: Process) -> None:
    os.kill(sleeper.pid, signal.SIGSTOP)

    with pause(sleeper, "client:0", stops_itself=True):
        assert sleeper.status() == psutil.STATUS_STOPPED

    assert sleeper.status() != psutil.STATUS_STOPPED


def test_a_dead_process_cannot_be_paused(sleeper: Process) -> None:
    sleeper.kill()
    assert wait_for(lambda: sleeper.status() == psutil.STATUS_ZOMBIE)

    with pytest.raises(FaultNotInstalledError, match="zombie"), pause(sleeper, "client:0"):
        pass


class Holders:
    """Processes that repeatedly reach a stop point, like clients, and write nothing."""

    def __init__(self, state: SharedState, count: int) -> None:
        self.state = state
        self.processes = [psutil.Process(self._fork(client)) for client in range(count)]

    def _fork(self, client: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        progress = SharedProgress(self.state, client, ("r0", "r1"))
        while not self.state.run.stop:
            progress.reached("before-write", f"r{client % 2}", f"{client}-1", client)
            self.state.operations[client] += 1
            time.sleep(0.0005)
        os._exit(0)


@contextlib.contextmanager
def holders_of(state: SharedState, count: int) -> Iterator[Holders]:
    """Start `count` of them, and end them with the block."""
    holders = Holders(state, count)
    try:
        yield holders
    finally:
        state.run.stop = 1
        for process in holders.processes:
            process.kill()
            os.waitpid(process.pid, 0)


def nemesis_over(
    state: SharedState,
    holders: Any,
    faults: tuple[PauseSpec, ...],
    recorded: list[dict[Any, Any]],
    duration: int,
    *,
    overlap: bool = True,
) -> Nemesis:
    log = PlanLog(
        seed=1,
        started=time.monotonic_ns(),
        duration=duration,
        planned=plan(faults, 1, TTL, duration),
        save=lambda _document: None,
    )
    return Nemesis(
        faults=faults,
        ttl=TTL,
        state=state,
        resources=("r0", "r1"),
        reach=FaultReach(cluster=None, sides={}, processes=holders.processes),  # pauses reach no server
        observer=Observer(log=log, record=recorded.append, notify=lambda _event: None),
        overlap=overlap,
    )


@pytest.mark.nightly
def test_hundreds_of_pauses_each_end_and_leave_every_client_running(folder: Path) -> None:
    lasting = PauseSpec(kind="pause", target="holder", at="before-write", lasts="1ms")
    recorded: list[dict[str, Any]] = []
    with pool.started(4, 2, 2, folder) as started, holders_of(started.state, 4) as holders:
        with nemesis_over(started.state, holders, (lasting, lasting), recorded, 600 * SECOND) as nemesis:
            assert wait_for(lambda: len(recorded) > 600 or nemesis.error, 3 * PATIENCE)
        nemesis.check()
        done = list(started.state.operations)
        assert wait_for(
            lambda: all(now > then for now, then in zip(started.state.operations, done, strict=True))
        )

    assert len(recorded) > 600
    assert all(fault.in_force < fault.healed for fault in nemesis.log.observed)
    states = [event["value"]["state"] for event in recorded]
    assert states.count("in force") == states.count("healed") == len(nemesis.log.observed)


def test_a_pause_until_superseded_ends_with_the_write_of_a_successor(folder: Path) -> None:
    recorded: list[dict[str, Any]] = []
    with pool.started(2, 2, 1, folder) as started, holders_of(started.state, 1) as holders:
        successor = SharedProgress(started.state, 1, ("r0", "r1"))
        with nemesis_over(started.state, holders, (HOLDER,), recorded, 600 * SECOND) as nemesis:
            assert wait_for(lambda: recorded)
            successor.reached("acquired", "r1", "1-1", 99)
            successor.accepted("r1", 99)  # on another resource
            assert nemesis.in_force() == ("pause client:0",)
            assert holders.processes[0].status() == psutil.STATUS_STOPPED
            successor.reached("acquired", "r0", "1-2", 100)
            successor.accepted("r0", 100)
            assert wait_for(lambda: len(recorded) > 1)
        nemesis.check()

    (windows,) = nemesis.log.windows.values()
    assert windows.hit >= 1
    assert [event["value"]["state"] for event in recorded[:2]] == ["in force", "healed"]
    assert (recorded[0]["value"]["resource"], recorded[0]["value"]["owner"]) == ("r0", "0-1")


def test_a_holder_that_has_lost_its_lock_is_let_go_and_is_no_window(folder: Path) -> None:
    recorded: list[dict[str, Any]] = []
    short = PauseSpec(kind="pause", target="holder", at="before-write", lasts="1ms")
    with pool.started(3, 2, 2, folder) as started, holders_of(started.state, 2) as holders:
        successor = SharedProgress(started.state, 2, ("r0", "r1"))
        successor.reached("acquired", "r0", "2-1", 99)
        with nemesis_over(started.state, holders, (short,), recorded, 600 * SECOND) as nemesis:
            assert wait_for(lambda: len(recorded) > 10)
            done = started.state.operations[0]
            assert wait_for(lambda: started.state.operations[0] > done + 10)
        nemesis.check()

    (windows,) = nemesis.log.windows.values()
    assert {event["value"]["owner"] for event in recorded} == {"1-1"}
    assert not windows.missed


def test_a_pause_until_freed_ends_when_the_successor_has_left(folder: Path) -> None:
    recorded: list[dict[str, Any]] = []
    freed = PauseSpec(kind="pause", target="holder", at="before-write", until="freed")
    with pool.started(2, 2, 1, folder) as started, holders_of(started.state, 1) as holders:
        successor = SharedProgress(started.state, 1, ("r0", "r1"))
        with nemesis_over(started.state, holders, (freed,), recorded, 600 * SECOND) as nemesis:
            assert wait_for(lambda: recorded)
            successor.reached("acquired", "r0", "1-1", 99)
            successor.accepted("r0", 99)
            assert holders.processes[0].status() == psutil.STATUS_STOPPED
            successor.exited()
            assert wait_for(lambda: len(recorded) > 1)
        nemesis.check()

    (windows,) = nemesis.log.windows.values()
    assert windows.hit >= 1


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [True, False])
def test_faults_on_clients_overlap_unless_the_target_forbids_it(folder: Path, overlap: bool) -> None:
    lasting = PauseSpec(kind="pause", target="holder", at="before-write", lasts="20ms")
    twice = (lasting, lasting)
    with pool.started(4, 2, 2, folder) as started, holders_of(started.state, 4) as holders:
        with nemesis_over(started.state, holders, twice, [], 600 * SECOND, overlap=overlap) as nemesis:
            assert wait_for(lambda: _overlap(nemesis) if overlap else len(nemesis.log.observed) > 20)
        nemesis.check()

    assert _overlap(nemesis) is overlap


def _overlap(nemesis: Nemesis) -> bool:
    """Was a fault in force when another began?"""
    in_force = sorted((fault.in_force, fault.healed) for fault in nemesis.log.observed if fault.healed)
    return any(second < healed for (_, healed), (second, _) in itertools.pairwise(in_force))

"""Stops of real client processes: SIGTERM delivered, the lock released, and the next process ready."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any, cast

import psutil
import pytest

from harness.clients import pool
from harness.clients.pool import ClientPool
from harness.core.duration import NS
from harness.core.errors import FaultNotInstalledError
from harness.nemesis.reach import FaultReach
from harness.nemesis.stop import stop_client
from harness.processes import process_tree
from harness.processes.cleanup_process import programs_killed_at_end
from harness.processes.process_tree import has_ended
from harness.processes.program import ProgramCommand
from tests.support import orphans as programs
from tests.support.repository import ROOT
from tests.support.waiting import wait_for
from tests.support.writing_clients import BUSY, recorded_by, writing_clients

MINUTE = 60 * NS["s"]
SHORT = NS["s"] // 5


@pytest.fixture
def clients(folder: Path) -> Iterator[ClientPool]:
    """Two clients, each with its first write in flight."""
    with writing_clients(2, folder) as started:
        assert wait_for(lambda: all(calls(client, folder)[-1:] == ["write"] for client in (0, 1)))
        yield started


def reach_of(clients: ClientPool) -> FaultReach:
    return FaultReach(
        cluster=cast("Any", None),
        sides={},
        processes=clients.handles,
        ended_by_faults=clients.ended_by_faults,
        start_again=clients.start_again,
    )


def calls(client: int, folder: Path, since: int = 0) -> list[str]:
    """Return the operations that a client has called since then (ns)."""
    events = recorded_by(client, folder)
    return [each["f"] for each in events if each["type"] == "invoke" and each["time"] >= since]


@pytest.mark.slow
def test_a_stopped_holder_completes_its_write_and_releases(clients: ClientPool, folder: Path) -> None:
    old = clients.handles[0]

    with stop_client(reach_of(clients), 0, MINUTE) as fault:
        was_there = not has_ended(old)
        clients.check()  # which passes over it
        (folder / BUSY).unlink()
        assert wait_for(lambda: has_ended(old))
        last = [(each["f"], each["type"]) for each in recorded_by(0, folder)[-4:]]

    assert was_there
    assert last == [("write", "invoke"), ("write", "ok"), ("release", "invoke"), ("release", "ok")]
    assert fault.evidence == f"SIGTERM was delivered to process {old.pid}"
    assert f"process {old.pid} ended with exit code 0" in fault.healed
    assert f"process {clients.handles[0].pid} is ready" in fault.healed


@pytest.mark.slow
def test_the_next_process_goes_on_under_new_numbers(clients: ClientPool, folder: Path) -> None:
    with stop_client(reach_of(clients), 0, MINUTE) as fault:
        (folder / BUSY).unlink()
    assert wait_for(lambda: "release" in calls(0, folder, fault.until or 0))
    clients.check()

    events = recorded_by(0, folder)
    owners = [each["owner"] for each in events if (each["f"], each["type"]) == ("acquire", "invoke")]
    numbers = {each["process"] for each in events if each["time"] > (fault.until or 0)}
    assert owners[:2] == ["0-1", "0-2"]
    assert len(set(owners)) == len(owners)
    assert numbers == {4}, "two clients, and the renewals of each, have 0 to 3"
    assert {each["process"] for each in events} == {0, 4}


def test_a_client_that_does_not_end_is_killed_after_its_grace(clients: ClientPool, folder: Path) -> None:
    old, began = clients.handles[0], time.monotonic_ns()

    with stop_client(reach_of(clients), 0, SHORT) as fault:
        assert not has_ended(old)

    assert (fault.until or 0) - began >= SHORT
    assert f"process {old.pid} was killed after its grace" in fault.healed
    assert fault.was_killed
    assert has_ended(old)
    assert wait_for(lambda: calls(0, folder) == ["acquire", "write", "acquire", "write"])
    assert {each["type"] for each in recorded_by(0, folder) if each["f"] == "write"} == {"invoke"}


@pytest.mark.slow
def test_the_other_clients_are_left_alone(clients: ClientPool, folder: Path) -> None:
    other = clients.handles[1]

    with stop_client(reach_of(clients), 0, SHORT):
        pass

    assert clients.handles[1] == other
    assert not has_ended(other)
    assert {each["process"] for each in recorded_by(1, folder)} == {1}


@pytest.mark.slow
def test_two_clients_are_stopped_at_the_same_time(clients: ClientPool, folder: Path) -> None:
    old, reach, seen = list(clients.handles), reach_of(clients), []

    def stop(client: int) -> None:
        with stop_client(reach, client, MINUTE) as fault:
            (folder / BUSY).unlink(missing_ok=True)
        seen.append(fault.healed)

    threads = [Thread(target=stop, args=(client,)) for client in (0, 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(seen) == 2
    assert all("ended with exit code 0" in each for each in seen)
    assert all(map(has_ended, old))
    assert not any(map(has_ended, clients.handles))
    clients.check()


def test_a_client_at_a_stop_point_gets_the_signal_and_goes_on(clients: ClientPool, folder: Path) -> None:
    old = clients.handles[0]
    old.suspend()

    with stop_client(reach_of(clients), 0, MINUTE, go_on=old.resume) as fault:
        (folder / BUSY).unlink()

    assert f"process {old.pid} ended with exit code 0" in fault.healed


def test_a_client_that_just_stopped_itself_is_continued(clients: ClientPool, folder: Path) -> None:
    clients.handles[0].suspend()

    with stop_client(reach_of(clients), 0, MINUTE) as fault:
        (folder / BUSY).unlink()

    assert "ended with exit code 0" in fault.healed


def test_a_stopped_client_is_started_again_if_the_block_raises(clients: ClientPool, folder: Path) -> None:
    old = clients.handles[0]

    with pytest.raises(ZeroDivisionError), stop_client(reach_of(clients), 0, MINUTE):
        raise ZeroDivisionError

    assert has_ended(old)
    assert wait_for(lambda: calls(0, folder)[2:] == ["acquire", "write"])
    clients.check()


def test_a_client_that_has_ended_cannot_be_stopped(clients: ClientPool) -> None:
    clients.handles[0].kill()
    assert wait_for(lambda: not clients.handles[0].is_running())

    with (
        pytest.raises(FaultNotInstalledError, match="had already ended"),
        stop_client(reach_of(clients), 0, MINUTE),
    ):
        pass


def test_a_stop_whose_signal_never_arrives_is_not_in_force(
    clients: ClientPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert process_tree.stop_all(clients.handles[0])  # SIGTERM would overtake a SIGSTOP that is pending
    monkeypatch.setattr("harness.processes.process_tree.SETTLING", 0.1)
    monkeypatch.setattr(psutil.Process, "resume", lambda _self: None)

    with (
        pytest.raises(FaultNotInstalledError, match="SIGTERM is still pending"),
        stop_client(reach_of(clients), 0, MINUTE),
    ):
        pass


PROGRAM = """
import json, sys
def say(**fields):
    print(json.dumps(fields), flush=True)
def read():
    return json.loads(sys.stdin.readline())
say(id=read()["id"], outcome="ok", stop={knows})
while True:
    request = read()
    if request["op"] == "write" and {knows}:
        say(id=read()["id"], outcome="ok")
    say(id=request["id"], outcome="ok", token=1, ttl_ms=None, value=None)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("knows", "by", "last"),
    [
        (True, 2, ("write", "ok")),  # the renewals of the first of two clients have the number 2
        (False, 0, ("release", "ok")),
    ],
)
def test_a_program_is_stopped_by_its_request_or_by_sigterm(
    folder: Path, run_id: str, knows: bool, by: int, last: tuple[str, str]
) -> None:
    command = ProgramCommand.of_run((sys.executable, "-c", PROGRAM.format(knows=knows)), run_id)
    with programs_killed_at_end(run_id), pool.started(2, 1, 1, folder) as clients:
        clients.get_ready(lambda _client: replace(programs.task(run_id), command=command))
        clients.state.run.started = time.monotonic_ns()
        assert wait_for(lambda: "write" in calls(0, folder))
        (program,) = clients.handles[0].children()

        with stop_client(reach_of(clients), 0, MINUTE) as fault:
            assert wait_for(lambda: has_ended(program))
            events = recorded_by(0, folder)

    releases = [each for each in events if (each["f"], each["type"]) == ("release", "ok")]
    assert releases[-1]["process"] == by
    assert [(each["f"], each["type"]) for each in events if each["process"] == 0][-1] == last
    assert "ended with exit code 0" in fault.healed


KILLED_IN_A_GRACE = """
import sys
sys.path[:0] = {path!r}
import time
from pathlib import Path
from harness.nemesis.reach import FaultReach
from harness.nemesis.stop import stop_client
from tests.support.waiting import wait_for
from tests.support.writing_clients import recorded_by, writing_clients

if __name__ == "__main__":
    folder = Path({folder!r})
    with writing_clients(2, folder) as clients:
        for client in (0, 1):  # one that has no write in flight would end in order
            assert wait_for(lambda: any(each["f"] == "write" for each in recorded_by(client, folder)))
        reach = FaultReach(
            cluster=None, sides={{}}, processes=clients.handles, start_again=clients.start_again
        )
        with stop_client(reach, 0, 60 * 10**9):
            print(*[process.pid for process in clients.handles], flush=True)
            time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_no_client_outlives_a_harness_killed_in_a_grace(folder: Path, deadly: signal.Signals) -> None:
    script = folder / "harness_that_is_killed.py"
    script.write_text(textwrap.dedent(KILLED_IN_A_GRACE).format(path=sys.path, folder=str(folder)))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env=environment
    ) as harness:
        assert harness.stdout is not None
        both = [psutil.Process(int(pid)) for pid in harness.stdout.readline().split()]

        harness.send_signal(deadly)

        assert len(both) == 2
        assert wait_for(lambda: all(map(has_ended, both)))

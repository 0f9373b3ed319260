"""Client processes: none outlives the harness, each stops on request and records its errors."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from signal import Signals
from typing import Any, NoReturn

import psutil
import pytest
from psutil import Process

from harness.clients import pool
from harness.clients.recorder import RecordedSession, Recorder
from harness.clients.shared_state import NOBODY, STOP_POINTS, Held, SharedProgress, SharedState
from harness.core.errors import InfrastructureError
from harness.nemesis.triggers import StopRequest, Victim
from tests.support.waiting import wait_for
from workloads.client import NotApplied

CLIENTS_UNTIL_KILLED = """
import time
from pathlib import Path
from harness.clients.pool import started

if __name__ == "__main__":
    with started(3, 1, 0, Path({folder!r})) as clients:
        print(*[process.pid for process in clients.processes], flush=True)
        time.sleep(60)
"""


ENDS_OUTSIDE_THE_BLOCK = """
import os
import signal
from pathlib import Path
from harness.clients.pool import started

if __name__ == "__main__":
    block = started(2, 1, 0, Path({folder!r}))
    pids = [process.pid for process in block.__enter__().processes]
    os.kill(pids[1], signal.SIGSTOP)
    print(*pids, flush=True)
    raise SystemExit(3)
"""


def gone(pids: list[int]) -> bool:
    return all(not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie" for pid in pids)


@pytest.fixture
def harness(folder: Path) -> Iterator[Any]:
    """A separate harness, as a script that has started three clients."""
    script = folder / "harness_that_is_killed.py"
    script.write_text(textwrap.dedent(CLIENTS_UNTIL_KILLED).format(folder=str(folder)))
    process = subprocess.Popen(
        [sys.executable, script],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path.cwd(),
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
    yield process
    process.kill()
    process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_no_client_outlives_a_killed_harness_if_stopped(harness: Any, folder: Path, deadly: Signals) -> None:
    pids = [int(pid) for pid in harness.stdout.readline().split()]
    assert wait_for(lambda: len(list((folder / "logs").iterdir())) == 3), "all are at work"
    os.kill(pids[0], signal.SIGSTOP)
    assert wait_for(lambda: psutil.Process(pids[0]).status() == psutil.STATUS_STOPPED)

    harness.send_signal(deadly)

    assert len(pids) == 3
    assert wait_for(lambda: gone(pids))


def test_no_client_outlives_the_block_even_if_stopped(folder: Path) -> None:
    with pool.started(3, 1, 0, folder) as started:
        pids = [process.pid for process in started.processes]
        os.kill(pids[1], signal.SIGSTOP)

    assert gone(pids)


def test_a_harness_that_is_interrupted_while_it_enters_the_block_ends(folder: Path) -> None:
    script = folder / "interrupted.py"
    script.write_text(ENDS_OUTSIDE_THE_BLOCK.format(folder=str(folder)))

    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )

    assert done.returncode == 3, done.stderr
    assert wait_for(lambda: gone([*map(int, done.stdout.split())]))


def test_an_unexpected_end_of_a_client_is_reported_with_its_log(folder: Path) -> None:
    with pool.started(2, 1, 0, folder) as started:
        (folder / "logs" / "client-1.log").write_text("Traceback …\nMemoryError: no more\n")
        os.kill(started.processes[1].pid, signal.SIGKILL)
        assert wait_for(lambda: started.processes[1].exitcode is not None)

        with pytest.raises(
            InfrastructureError, match=r"client 1 ended unexpectedly with status -9.*(?s:.*)no more"
        ):
            started.check()


@pytest.fixture
def state(folder: Path) -> Iterator[SharedState]:
    with pool.started(1, 2, 2, folder) as started:
        yield started.state


def reach_in_a_child(state: SharedState, point: str, resource: str = "r1", token: int = 5) -> Process:
    """Fork a process that reaches a stop point as client 0, and then ends."""
    pid = os.fork()
    if pid == 0:
        SharedProgress(state, 0, ("r0", "r1")).reached(point, resource, "0-1", token)
        os._exit(0)
    return psutil.Process(pid)


@pytest.mark.slow
@pytest.mark.parametrize("point", STOP_POINTS)
def test_a_client_stops_at_a_requested_stop_point_until_released(state: SharedState, point: str) -> None:
    request = StopRequest(state, 0, point, Victim.named("holder:r1"))
    with request.armed():
        process = reach_in_a_child(state, point)
        assert wait_for(lambda: process.status() == psutil.STATUS_STOPPED)
        assert request.stopped_client == 0
        assert list(state.holders()) == [(0, 1, 5)]

    process.resume()  # not enough: a stray SIGCONT must not let it through
    assert state.clients[0].stopped
    state.clients[0].stopped = 0

    assert wait_for(lambda: process.status() == psutil.STATUS_ZOMBIE)
    os.waitpid(process.pid, 0)


@pytest.mark.parametrize(("armed", "reached"), [("before-write", "acquired"), ("acquired", "before-release")])
def test_a_client_does_not_stop_without_a_request(state: SharedState, armed: str, reached: str) -> None:
    with StopRequest(state, 0, armed, Victim()).armed():
        process = reach_in_a_child(state, reached)
        assert wait_for(lambda: process.status() == psutil.STATUS_ZOMBIE)
    os.waitpid(process.pid, 0)


@pytest.mark.parametrize("victim", ["holder:r0", "client:3"])
def test_a_stop_request_stops_only_its_victim(state: SharedState, victim: str) -> None:
    request = StopRequest(state, 0, "before-write", Victim.named(victim))
    with request.armed():
        process = reach_in_a_child(state, "before-write", resource="r1")
        assert wait_for(lambda: process.status() == psutil.STATUS_ZOMBIE)
        assert request.stopped_client == NOBODY
    os.waitpid(process.pid, 0)


def test_a_stop_request_for_any_holder_spares_the_successor(state: SharedState) -> None:
    with StopRequest(state, 1, "acquired", Victim()).reserving(1):
        request = StopRequest(state, 0, "before-write", Victim())
        with request.armed():
            process = reach_in_a_child(state, "before-write", resource="r1")
            assert wait_for(lambda: process.status() == psutil.STATUS_ZOMBIE)
            assert request.stopped_client == NOBODY
    os.waitpid(process.pid, 0)


def test_an_accepted_write_with_a_higher_token_supersedes_a_hold(folder: Path) -> None:
    with pool.started(2, 2, 0, folder) as started:
        other = SharedProgress(started.state, 1, ("r0", "r1"))

        other.accepted("r1", 9)
        hold = Held(client=0, resource=1, owner=b"0-1", token=8, sent=0, granted=1)
        assert not started.state.superseded(replace(hold, resource=0)), "on another resource"
        assert not started.state.superseded(replace(hold, token=9)), "not higher"
        assert started.state.superseded(hold)
        assert started.state.superseded(replace(hold, client=1)), "by its client's next hold"


def test_without_a_token_only_a_later_hold_supersedes(folder: Path) -> None:
    with pool.started(3, 2, 0, folder) as started:
        state = started.state
        earlier, mine, later = (SharedProgress(state, number, ("r0", "r1")) for number in range(3))
        earlier.reached("acquired", "r1", "0-1", 4)
        mine.granted("r1", "1-1")

        earlier.accepted("r1", 4)
        hold = state.held(1)
        assert not state.superseded(hold), "granted before"
        later.reached("acquired", "r1", "2-1", 5)
        assert not state.superseded(hold), "nothing written"
        later.accepted("r1", 5)
        assert state.superseded(hold)
        assert not state.superseded(replace(hold, resource=0)), "on another resource"


def test_a_hold_starts_when_its_grant_was_first_known(folder: Path) -> None:
    with pool.started(2, 1, 0, folder) as started:
        state = started.state
        first, second = (SharedProgress(state, number, ("r0",)) for number in range(2))
        first.granted("r0", "0-1")
        second.granted("r0", "1-1")
        first.reached("acquired", "r0", "0-1", 7)
        first.accepted("r0", 7)

        assert not state.superseded(state.held(1))
        first.reached("acquired", "r0", "0-2", 8)
        first.accepted("r0", 8)
        assert state.superseded(state.held(1))


def test_without_a_token_a_list_is_contested_by_a_later_hold(folder: Path) -> None:
    with pool.started(2, 1, 0, folder) as started:
        state = started.state
        mine, other = (SharedProgress(state, number, ("r0",)) for number in range(2))
        other.reached("list-read", "r0", "1-1", 3)
        mine.granted("r0", "0-1")

        assert not state.contested(state.held(0))
        other.reached("list-read", "r0", "1-2", 4)
        assert state.contested(state.held(0))


def refuse() -> NoReturn:
    raise NotApplied("not the\n holder")


def lose_the_connection() -> NoReturn:
    raise ConnectionResetError("connection reset")


def mistake() -> NoReturn:
    raise ValueError("boom")


def error_of(recorder: Recorder, action: Any) -> str:
    return str(RecordedSession(recorder, 0, 1).call("read", "r0", action).fields["error"])


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "client-0.jsonl", passwords=("hunter22",))


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (refuse, "not the holder"),
        (lose_the_connection, "connection reset"),
        (
            mistake,
            f"raised ValueError: boom ({Path(__file__).name}:{mistake.__code__.co_firstlineno + 1}, in mistake)",
        ),
    ],
)
def test_an_error_has_its_place_if_it_is_a_mistake(recorder: Recorder, action: Any, said: str) -> None:
    assert error_of(recorder, action) == said


def test_logs_have_tracebacks_but_no_password(recorder: Recorder, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> NoReturn:
        raise KeyError("hunter22")

    session = RecordedSession(recorder, 0, 1)
    for _ in range(100):
        session.call("read", "r0", fail)
    session.call("read", "r0", lose_the_connection)

    log = capsys.readouterr().err
    assert 1 < log.count("Traceback") < 100
    assert "in fail" in log
    assert "hunter22" not in log
    assert "ConnectionResetError" not in log

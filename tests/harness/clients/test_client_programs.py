"""The user's own programs as clients of complete runs; no server is started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from signal import Signals
from typing import Any

import psutil
import pytest
from psutil import Process

from harness.clients import pool
from harness.clients.admin import AdminClient
from harness.clients.process import ClientTask
from harness.files.log_limit import CUT, MOST
from harness.processes.process_tree import is_stopped
from harness.processes.program import Command
from harness.processes.reaper import reaper
from tests.support.command import run_target
from tests.support.repository import ROOT
from tests.support.systems import lock_settings, storage_settings
from workloads.line_protocol.program_client import start_fields

PROGRAM = ROOT / "tests/support/line_program.py"
TARGET = """
name = "mine"
expect = "valid"
[client]
command = {command}
[lock]
kind = "client"
ttl = "1s"
[storage]
kind = "client"
fencing = "compare and write in one transaction"
[[faults]]
kind = "pause"
target = "holder"
at = "before-write"
until = "superseded"
"""
LEAVES_ONE = """
import json, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True, stdout=subprocess.DEVNULL)
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "outcome": "ok"}), flush=True)
time.sleep(60)
"""
LEAVES_A_DAEMON = """
import json, os, sys
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(os.open(os.path.join({folder!r}, str(os.getpid())), os.O_CREAT))
        os.write(writing, b"!")
        for each in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), each)
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {{}})
    os._exit(0)
os.read(reading, 1)
for line in sys.stdin:
    request = json.loads(line)
    done = "unsupported" if request["op"] == "committed" else "ok"
    print(json.dumps({{"id": request["id"], "outcome": done}}), flush=True)
"""


def wait_for(condition: Callable[..., Any], seconds: float = 15.0) -> Any:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


def gone(processes: list[Process]) -> bool:
    return all(not each.is_running() or each.status() == psutil.STATUS_ZOMBIE for each in processes)


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Run a target with that command as its clients, and a pause at each write."""

    def run_it(command: Any, *settings: Any) -> Any:
        (tmp_path / "mine.toml").write_text(
            TARGET.format(command=json.dumps([str(word) for word in command]))
        )
        return run_target(tmp_path, "mine.toml", "workload.duration=4s", *settings)

    return run_it


@pytest.mark.parametrize(
    ("arguments", "settings", "verdict", "evidence"),
    [
        ((), (), "valid", {"committed", "observed"}),
        pytest.param(
            (),
            ("storage.fencing=none", 'expect=["stale-write"]'),
            "invalid",
            {"committed", "observed"},
            marks=pytest.mark.slow,
        ),
        pytest.param(("forgetful",), (), "valid", {"observed"}, marks=pytest.mark.slow),
        pytest.param(
            (),
            ("workload.kind=append", "storage.policy=inclusive", "storage.fence_on_acquire=true"),
            "valid",
            {"committed", "observed"},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_program_is_run_paused_and_judged(
    run: Any,
    tmp_path: Path,
    arguments: tuple[str, ...],
    settings: tuple[str, ...],
    verdict: str,
    evidence: set[str],
) -> None:
    done = run([sys.executable, PROGRAM, tmp_path / "file.db", *arguments], *settings)

    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == verdict
    assert document["coverage"]["stale_writes_attempted"] >= 1
    assert {each["evidence"] for each in document["checkers"]} == evidence
    assert "processes" in (tmp_path / "runs/mine/latest/plan.json").read_text(), "it was stopped too"


@pytest.mark.slow
def test_a_pause_at_write_sent_follows_the_programs_event(run: Any, tmp_path: Path) -> None:
    done = run(
        [sys.executable, PROGRAM, tmp_path / "file.db"],
        "faults.0.at=write-sent",
        'faults.0={kind="pause", target="holder", at="write-sent", lasts="1.5 ttl"}',
        "require.stale_writes_attempted=0",
        "require.pauses=1",
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (
            ["no-such-program"],
            4,
            "mine: client.command: there is no executable program no-such-program on PATH",
        ),
        (["./not-here"], 4, "mine: client.command: there is no executable program ./not-here from here"),
        ([sys.executable, "nothing.py"], 3, "ended with status 2; its last lines in "),
        (["echo", "hello"], 3, "did not become ready: the program said hello: "),
        ([sys.executable, "-c", "raise RuntimeError('my words')"], 3, "RuntimeError: my words"),
    ],
)
def test_a_command_that_is_not_a_client_is_reported_in_one_sentence(
    run: Any, command: list[str], code: int, said: str
) -> None:
    done = run(command)

    assert done.returncode == code
    assert said in done.stderr
    assert "harness/" not in done.stderr, "no traceback of ours"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "events").mkdir()
    return tmp_path


def task(run_id: str) -> ClientTask:
    return ClientTask(
        seed=1,
        resources=("r0",),
        workload="register",
        most_writes=1,
        think_time=(0.001, 0.002),
        lock=lock_settings("client", []),
        storage=storage_settings("client", []),
        command=Command.of_run(("sh", "-c", f"{sys.executable} -c '{LEAVES_ONE}'; true"), run_id),
    )


def offspring(processes: Any) -> list[Process]:
    """Return the shell, the program and its orphan, of each client."""
    found = [each for process in processes for each in psutil.Process(process.pid).children(recursive=True)]
    return found if len(found) == 3 * len(processes) else []


def test_no_program_or_child_process_outlives_the_block(folder: Path, run_id: str) -> None:
    with reaper(run_id), pool.started(2, 1, 0, folder) as started:
        started.get_ready(lambda _client: task(run_id))
        assert wait_for(lambda: offspring(started.processes))
        everybody = offspring(started.processes)
        everybody[0].suspend()

    assert gone(everybody)


def test_child_processes_of_a_program_end_when_its_client_is_killed(folder: Path, run_id: str) -> None:
    with reaper(run_id), pool.started(1, 1, 0, folder) as started:
        started.get_ready(lambda _client: task(run_id))
        assert wait_for(lambda: offspring(started.processes))
        everybody = offspring(started.processes)
        os.kill(started.processes[0].pid, signal.SIGKILL)
        assert wait_for(lambda: started.processes[0].exitcode is not None)

    assert gone(everybody)


UNTIL_KILLED = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from harness.clients.pool import started
from harness.processes.reaper import reaper
from harness.files.log_limit import CUT, MOST
from tests.harness.clients.test_client_programs import offspring, task

if __name__ == "__main__":
    with reaper({run_id!r}), started(2, 1, 0, Path({folder!r})) as clients:
        clients.get_ready(lambda _client: task({run_id!r}))
        while not offspring(clients.processes):
            time.sleep(0.01)
        print(*[each.pid for each in offspring(clients.processes)], flush=True)
        time.sleep(60)
"""


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_no_program_or_child_process_outlives_a_killed_harness(
    folder: Path, run_id: str, deadly: Signals
) -> None:
    script = folder / "harness_that_is_killed.py"
    script.write_text(textwrap.dedent(UNTIL_KILLED).format(path=sys.path, run_id=run_id, folder=str(folder)))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as harness:
        everybody = [psutil.Process(int(pid)) for pid in harness.stdout.readline().split()]
        everybody[1].suspend()
        assert wait_for(lambda: is_stopped(everybody[1]))

        harness.send_signal(deadly)

        assert len(everybody) == 6
        assert wait_for(lambda: gone(everybody))


def sleeps(process: psutil.Process) -> bool:
    """Is it running as the daemon?"""
    with suppress(psutil.Error):
        return process.cmdline()[-1:] == ["import time; time.sleep(600)"]
    return False


@pytest.fixture
def daemons(tmp_path: Path) -> Iterator[Callable[[], list[Any]]]:
    """Return the daemons that programs have started so far: forked twice, without an environment."""
    (tmp_path / "daemons").mkdir()
    seen: dict[Any, Any] = {}

    def look() -> list[Any]:
        for file in (tmp_path / "daemons").iterdir():
            with suppress(psutil.NoSuchProcess):
                seen.setdefault(file.name, psutil.Process(int(file.name)))
        return [each for each in seen.values() if sleeps(each)]

    yield look
    for each in look():
        each.kill()


def leaving_daemons(folder: Path, run_id: str) -> ClientTask:
    source = LEAVES_A_DAEMON.format(folder=str(folder / "daemons"))
    return replace(task(run_id), command=Command.of_run((sys.executable, "-c", source), run_id))


def test_no_daemon_outlives_the_block(folder: Path, run_id: str, daemons: Callable[[], list[Any]]) -> None:
    with reaper(run_id), pool.started(2, 1, 0, folder) as started:
        started.get_ready(lambda _client: leaving_daemons(folder, run_id))
        assert wait_for(lambda: len(daemons()) == 2)

    assert daemons() == []


def test_no_daemon_of_a_killed_client_outlives_the_block(
    folder: Path, run_id: str, daemons: Callable[[], list[Any]]
) -> None:
    with reaper(run_id), pool.started(1, 1, 0, folder) as started:
        started.get_ready(lambda _client: leaving_daemons(folder, run_id))
        assert wait_for(lambda: len(daemons()) == 1)
        os.kill(started.processes[0].pid, signal.SIGKILL)
        assert wait_for(lambda: started.processes[0].exitcode is not None)

    assert daemons() == []


def test_no_daemon_of_the_harness_own_program_outlives_it(
    folder: Path, run_id: str, daemons: Callable[[], list[Any]]
) -> None:
    asked = leaving_daemons(folder, run_id)
    fields = start_fields(None, asked.lock, asked.storage)
    admin = AdminClient(command=asked.command, start_fields=fields, log=folder / "logs" / "program.log")

    admin.set_up(["r0"])
    assert admin.committed() is None

    assert len(list((folder / "daemons").iterdir())) == 2
    assert daemons() == []


WITH_DAEMONS_UNTIL_KILLED = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from harness.clients.pool import started
from harness.processes.reaper import reaper
from harness.files.log_limit import CUT, MOST
from tests.harness.clients.test_client_programs import leaving_daemons

if __name__ == "__main__":
    folder = Path({folder!r})
    with reaper({run_id!r}), started(2, 1, 0, folder) as clients:
        clients.get_ready(lambda _client: leaving_daemons(folder, {run_id!r}))
        print("ready", flush=True)
        time.sleep(600)
"""


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_no_daemon_outlives_a_killed_harness(
    folder: Path, run_id: str, daemons: Callable[[], list[Any]], deadly: Signals
) -> None:
    script = folder / "harness_that_is_killed.py"
    script.write_text(WITH_DAEMONS_UNTIL_KILLED.format(path=sys.path, run_id=run_id, folder=str(folder)))
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout.readline() == "ready\n"
        assert wait_for(lambda: len(daemons()) == 2)
        daemons()[0].suspend()

        harness.send_signal(deadly)

        assert wait_for(lambda: daemons() == [])


@pytest.mark.slow
def test_a_program_that_floods_stderr_neither_fills_the_disk_nor_blocks(run: Any, tmp_path: Path) -> None:
    flooding = tmp_path / "flooding.py"
    flooding.write_text(
        "import os, runpy, sys, threading\n"
        "def flood():\n"
        "    for _ in range(2000): os.write(2, b'x' * 2**20)\n"
        "threading.Thread(target=flood, daemon=True).start()\n"
        f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')\n"
    )

    done = run(
        [sys.executable, flooding, tmp_path / "file.db"],
        "require.stale_writes_attempted=0",
        "workload.clients=3",
        "workload.resources=1",
    )

    assert done.returncode == 0, done.stderr
    assert "logs/client-0.log was cut: it exceeded 16 MiB" in done.stderr
    logs = list((tmp_path / "runs/mine/latest/logs").glob("client-*.log"))
    assert {log.stat().st_size for log in logs} == {MOST + len(CUT)}
    assert all(log.read_bytes().endswith(CUT) for log in logs)

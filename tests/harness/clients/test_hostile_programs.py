"""Programs that misbehave, or would outlive their client, its block or the harness: nothing is left."""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import Signals
from typing import Any

import psutil
import pytest
from psutil import Process

from harness.clients import pool
from harness.clients.admin import AdminClient
from harness.files.logs import CUT, MOST
from harness.processes.cleanup_process import programs_killed_at_end
from harness.processes.process_tree import is_stopped
from tests.support.command import FENCEPOST
from tests.support.orphans import leaving_daemons, offspring, task
from tests.support.repository import ROOT
from tests.support.selection import nightly
from tests.support.waiting import wait_for
from workloads.line_protocol.program_client import start_fields

PROGRAM = ROOT / "tests/support/hostile_program.py"
MIB = 2**20
MEMORY = 300 * MIB  # of Fencepost's own process; a quiet run takes 70
DISK = 2 * MOST + 30 * MIB  # the logs of two clients, and a small run
POLL = 0.05  # s

TARGET = """
name = "hostile"
expect = "valid"
[client]
command = {command}
[lock]
kind = "client"
ttl = "500ms"
[storage]
kind = "client"
fencing = "none"
[workload]
duration = "2s"
clients = 2
resources = 1
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ended, and what it took."""

    code: int
    said: str
    memory: int  # bytes
    disk: int  # bytes at most, at any time
    left: list[str]  # command lines of processes that are still there


def size_of(folder: Path) -> int:
    total = 0
    for place, _folders, files in os.walk(folder):
        for file in files:
            with suppress(OSError):
                total += (Path(place) / file).stat().st_size
    return total


def tagged(tag: str) -> list[str]:
    """Find what is left of a program: its lock shows even a process that changes too fast to be listed."""
    found = ["something holds the lock"] if is_locked(Path(tag) / "alive") else []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            words = process.cmdline()
            if tag in words and process.status() != psutil.STATUS_ZOMBIE:
                found.append(shlex.join(words))
    return found


def is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open("r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary files that servers can read, which run as another user."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def run(tmp_path: Path, temporary: Path) -> Callable[[Sequence[str]], Ended]:
    """Run a command of Fencepost in a folder, and measure it; temporary files go there too."""

    def run_it(words: Sequence[str]) -> Ended:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
        said = tmp_path / "said"
        disk = memory = 0
        with said.open("w") as output:
            process = subprocess.Popen(
                [*FENCEPOST, *words], cwd=tmp_path, env=environment, stdout=output, stderr=output
            )
            while process.poll() is None:
                disk = max(disk, size_of(tmp_path) + size_of(temporary))
                memory = max(memory, most_memory(process.pid))
                time.sleep(POLL)
        assert list(temporary.iterdir()) == []
        return Ended(process.returncode, said.read_text(), memory, disk, tagged(str(tmp_path)))

    return run_it


def most_memory(process: int) -> int:
    """The most memory that a process has used, in bytes; its rusage would include its parent's."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def command(folder: Path, how: str, request: str) -> list[str]:
    return [sys.executable, str(PROGRAM), how, request, str(folder)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "when", "said"),
    [
        ("garbage", "acquire", "WRONG acquire: unknown (the program said \\x00"),
        (
            "forks",
            "acquire",
            "WRONG acquire: the program ended with status 7, and a child process of it keeps",
        ),
        *nightly(
            ("never_ends_forking", "acquire", "WRONG acquire: the program ended with"),
            ("endless_line", "acquire", "a line of more than 1,048,576 bytes"),
            ("endless_error_line", "start", "it ended with status 7"),
            ("flood_stderr", "acquire", "WRONG acquire: no answer in time"),
        ),
    ],
)
def test_check_client_names_what_a_hostile_program_does(
    run: Callable[[Sequence[str]], Ended], tmp_path: Path, how: str, when: str, said: str
) -> None:
    words = shlex.join(command(tmp_path, how, when))

    ended = run(["check-client", "--engine=local", "--side=lock", "--set=lock.ttl=500ms", words])

    assert ended.code in (1, 3), ended.said
    assert said in ended.said
    assert "Traceback" not in ended.said
    assert len(ended.said) < 10_000
    assert ended.left == []
    assert ended.memory < MEMORY
    assert ended.disk < DISK


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "when", "code", "said"),
    [
        ("forks", "acquire", 2, "the lock was never granted"),
        ("flood_stdout", "acquire", 2, "the lock was never granted"),
        *nightly(("flood_commits", "committed", 3, "committed: it has more than 16")),
    ],
)
def test_a_run_of_a_hostile_program_ends_and_says_why(
    run: Callable[[Sequence[str]], Ended], tmp_path: Path, how: str, when: str, code: int, said: str
) -> None:
    (tmp_path / "hostile.toml").write_text(TARGET.format(command=json.dumps(command(tmp_path, how, when))))

    ended = run(["run", "--engine=local", "hostile.toml"])

    assert ended.code == code, ended.said
    assert said in ended.said
    assert ended.left == []
    assert ended.memory < MEMORY
    assert ended.disk < DISK
    logs = (tmp_path / "runs/hostile/latest/logs").glob("*.log")
    assert all(log.stat().st_size <= MOST + len(CUT) for log in logs)


def gone(processes: list[Process]) -> bool:
    return all(not each.is_running() or each.status() == psutil.STATUS_ZOMBIE for each in processes)


def test_no_program_or_child_process_outlives_the_block(folder: Path, run_id: str) -> None:
    with programs_killed_at_end(run_id), pool.started(2, 1, 0, folder) as started:
        started.get_ready(lambda _client: task(run_id))
        assert wait_for(lambda: offspring(started.processes))
        everybody = offspring(started.processes)
        everybody[0].suspend()

    assert gone(everybody)


UNTIL_KILLED = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from harness.clients.pool import started
from harness.processes.cleanup_process import programs_killed_at_end
from tests.support.orphans import offspring, task

if __name__ == "__main__":
    with programs_killed_at_end({run_id!r}), started(2, 1, 0, Path({folder!r})) as clients:
        clients.get_ready(lambda _client: task({run_id!r}))
        while not offspring(clients.processes):
            time.sleep(0.01)
        print(*[each.pid for each in offspring(clients.processes)], flush=True)
        time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_no_program_or_child_outlives_a_killed_harness(folder: Path, run_id: str, deadly: Signals) -> None:
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


def test_no_daemon_outlives_the_block(folder: Path, run_id: str, daemons: Callable[[], list[Any]]) -> None:
    with programs_killed_at_end(run_id), pool.started(2, 1, 0, folder) as started:
        started.get_ready(lambda _client: leaving_daemons(folder, run_id))
        assert wait_for(lambda: len(daemons()) == 2)

    assert daemons() == []


def test_no_daemon_of_a_killed_client_outlives_the_block(
    folder: Path, run_id: str, daemons: Callable[[], list[Any]]
) -> None:
    with programs_killed_at_end(run_id), pool.started(1, 1, 0, folder) as started:
        started.get_ready(lambda _client: leaving_daemons(folder, run_id))
        assert wait_for(lambda: len(daemons()) == 1)
        os.kill(started.processes[0].pid, signal.SIGKILL)
        assert wait_for(lambda: started.processes[0].exitcode is not None)

    assert daemons() == []


def test_no_daemon_outlives_the_harness(folder: Path, run_id: str, daemons: Callable[[], list[Any]]) -> None:
    asked = leaving_daemons(folder, run_id)
    fields = start_fields(None, asked.lock, asked.storage)
    admin = AdminClient(command=asked.command, start_fields=fields, log=folder / "logs" / "program.log")

    admin.set_up(["r0"])
    assert admin.committed(recorded=0) is None

    assert len(list((folder / "daemons").iterdir())) == 2
    assert daemons() == []


WITH_DAEMONS_UNTIL_KILLED = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from harness.clients.pool import started
from harness.processes.cleanup_process import programs_killed_at_end
from tests.support.orphans import leaving_daemons

if __name__ == "__main__":
    folder = Path({folder!r})
    with programs_killed_at_end({run_id!r}), started(2, 1, 0, folder) as clients:
        clients.get_ready(lambda _client: leaving_daemons(folder, {run_id!r}))
        print("ready", flush=True)
        time.sleep(600)
"""


@pytest.mark.slow
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

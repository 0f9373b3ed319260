"""Programs that misbehave: one sentence, bounded memory and disk, and nothing is left behind."""

import fcntl
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from harness.files.logs import CUT, MOST
from tests.support.command import FENCEPOST
from tests.support.repository import ROOT
from tests.support.selection import nightly

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


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("how", "when", "said"),
    [
        ("garbage", "acquire", "WRONG acquire: unknown (the program said \\x00"),
        pytest.param(
            "forks",
            "acquire",
            "WRONG acquire: the program ended with status 7, and a child process of it keeps",
            marks=SLOW,
        ),
        pytest.param("never_ends_forking", "acquire", "WRONG acquire: the program ended with", marks=SLOW),
        pytest.param("endless_line", "acquire", "a line of more than 1,048,576 bytes", marks=SLOW),
        pytest.param("endless_error_line", "start", "it ended with status 7", marks=SLOW),
        pytest.param("flood_stderr", "acquire", "WRONG acquire: no answer in time", marks=SLOW),
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

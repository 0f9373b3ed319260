"""Child processes: companions and the fork server leave nothing, and commands that do not start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.processes.companion import companion
from harness.processes.program import missing
from harness.processes.script import run
from tests.support.waiting import PATIENCE, wait_for

SLOW_TO_END = "import sys, time; sys.stdin.read(); time.sleep(1)"  # longer than Popen waits after Ctrl-C


@pytest.mark.parametrize("ends", [KeyboardInterrupt, ValueError])
def test_a_companion_has_ended_when_its_block_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: type[BaseException]
) -> None:
    (tmp_path / "slow_to_end.py").write_text(SLOW_TO_END)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    with pytest.raises(ends), companion("slow_to_end") as process:
        raise ends

    assert process.returncode == 0


HARNESS = """
import threading
from harness.processes import fork_server

fork_server.started([])
for _ in range(16):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
memory = bytes(1) * 200_000_000  # it takes a moment to free
print("started", flush=True)
input()
"""


@pytest.mark.parametrize("is_killed", [True, False])
def test_the_folder_of_its_socket_goes_with_the_harness(tmp_path: Path, *, is_killed: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    ) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "started\n"
        assert list(tmp_path.iterdir())
        if is_killed:
            harness.kill()
        else:
            harness.communicate("\n")

    assert wait_for(lambda: not list(tmp_path.iterdir()))


def test_a_command_ends_with_its_status_and_last_line() -> None:
    ended = run(["sh", "-c", "echo first; echo last >&2; exit 3"], PATIENCE)

    assert (ended.status, ended.said) == (3, "last")
    assert str(ended) == "`sh -c 'echo first; echo last >&2; exit 3'` ended with status 3: last"


def test_a_command_is_killed_with_its_children_at_its_deadline() -> None:
    ended = run(["sh", "-c", "sleep 600 & echo $!; wait"], 3)

    assert ended.status is None
    assert "did not end in time" in str(ended)
    assert wait_for(lambda: not psutil.pid_exists(int(ended.said)))


def test_a_program_that_does_not_exist_has_a_status_too() -> None:
    assert run(["no-such-program"], 1).status == 127


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("./lock.py", "./lock.py is not executable: run chmod +x ./lock.py"),
        (
            "lock.py",
            "there is no executable program lock.py on PATH; for the file in the current folder write ./lock.py",
        ),
        ("./folder", "folder is a folder, not a program"),
        ("./none", "there is no executable program ./none from the current folder, {here}"),
        ("/none/at/all", "there is no executable program /none/at/all"),
        ("no-such-program", "there is no executable program no-such-program on PATH"),
    ],
)
def test_a_command_that_cannot_start_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lock.py").write_text("")
    (tmp_path / "folder").mkdir()

    assert missing((word,)) == why.format(here=tmp_path)


def test_an_executable_file_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lock.sh").touch(mode=0o755)

    assert missing(("./lock.sh",)) is None

"""Who owns a process, a container or a temporary folder, and whether that owner is alive."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines import cleanup
from harness.processes import ownership, run_notes
from harness.processes.ownership import Life, Owner

US = ownership.this_process()
NAME, NAMESPACE, BOOT = US.host.split("/")


def test_marks_are_read_back() -> None:
    marks = US.marks("run-1")

    assert marks[ownership.RUN] == "run-1"
    assert ownership.owner_of(marks) == US
    assert ownership.from_environment(ownership.as_environment(marks)) == marks


@pytest.mark.parametrize(
    ("them", "life"),
    [
        (US, Life.ALIVE),
        (replace(US, started=US.started + 1), Life.DEAD),  # the pid was reused
        (replace(US, host=f"{NAME}/{NAMESPACE}/another-boot"), Life.DEAD),
        (replace(US, host=f"another-host/{NAMESPACE}/{BOOT}"), Life.ELSEWHERE),
        (replace(US, host=f"{NAME}/1/{BOOT}"), Life.ELSEWHERE),  # in another container
    ],
)
def test_an_owner_is_alive_if_pid_and_start_time_match(them: Owner, life: Life) -> None:
    assert them.life() is life


def test_a_zombie_is_dead() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, but was not waited for

        assert ownership.Owner(child.pid, ownership._start_ticks(US.pid) or 0, US.host).life() is Life.DEAD


@pytest.mark.parametrize("marks", [{}, {ownership.RUN: "by-hand", ownership.HARNESS: "by-hand"}])
def test_things_started_by_hand_have_an_unknown_owner(marks: dict[str, str]) -> None:
    assert ownership.life_of(marks) is Life.ELSEWHERE


KILLED = """
import os, signal
from harness.processes.run_notes import temporary_folder
with temporary_folder():
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, empty; notes lie beside it."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(folder))
    return folder


def test_a_temporary_folder_goes_with_its_block(temporary: Path) -> None:
    with run_notes.temporary_folder() as folder:
        (folder / "file").write_text("something")
        assert [note.paths for note in run_notes.read_notes().read] == [(folder,)]

    assert list(temporary.iterdir()) == []
    assert list(run_notes.read_notes().read) == []


def test_the_temporary_folder_of_a_killed_process_is_swept(temporary: Path) -> None:
    environment = os.environ | {"TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert len(list(temporary.iterdir())) == 1

    assert cleanup.sweep() == cleanup.Sweep()

    assert list(temporary.iterdir()) == []
    assert list(run_notes.read_notes().read) == []

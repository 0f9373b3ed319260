"""What a dead run or an old version has left: its processes are ended, its caches removed, no others."""

import subprocess
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from harness.engines import cleanup
from harness.engines.cleanup import clean
from harness.processes import ownership, run_notes

US = ownership.this_process()
DEAD = replace(US, started=US.started + 1)


@pytest.fixture(autouse=True)
def _notes(tmp_path: Path, run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note of the dead run, in a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run_notes.leave_note(DEAD.marks(run_id), "local", [])


@pytest.mark.slow
def test_only_processes_of_a_dead_run_are_killed(run_id: str) -> None:
    with (
        subprocess.Popen(["sleep", "60"], env=ownership.as_environment(DEAD.marks(run_id))) as left,
        subprocess.Popen(["sleep", "60"], env=ownership.as_environment(US.marks("another"))) as ours,
    ):
        swept = cleanup.sweep()
        ended = left.poll()
        lives = ours.poll() is None
        left.kill()
        ours.kill()

    assert swept.removed == (f"process {left.pid}",)
    assert ended is not None
    assert lives


@pytest.mark.slow
def test_a_process_with_a_pid_seen_before_is_killed(run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"], env=ownership.as_environment(DEAD.marks(run_id))) as left:
        seen_before = psutil.Process(left.pid)
        monkeypatch.setattr(seen_before, "_ident", (left.pid, 0.0))  # it was started at another time
        monkeypatch.setattr(psutil, "_pmap", {left.pid: seen_before})

        cleanup.sweep()  # or that of a run that another test begins at this moment
        ended = left.poll()
        left.kill()

    assert ended is not None


def test_a_process_that_ends_meanwhile_is_left_out(run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"], env=ownership.as_environment(DEAD.marks(run_id))) as left:
        environ = psutil.Process.environ

        def end_after_reading(process: psutil.Process) -> dict[str, str]:
            found = environ(process)
            if process.pid == left.pid:
                left.kill()
                left.wait()
            return found

        monkeypatch.setattr(psutil.Process, "environ", end_after_reading)

        swept = cleanup.sweep()

    assert swept.removed == ()


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "fencepost").mkdir(mode=0o700)
    return tmp_path / "fencepost"


def test_the_old_cache_is_removed(caches: Path) -> None:
    (caches / "columns").mkdir(mode=0o700)
    (caches / "columns" / "a.npz").touch()

    assert f"the unused cache {caches / 'columns'}" in clean().removed
    assert not (caches / "columns").exists()


def test_a_link_in_its_place_is_left_alone(caches: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    (caches / "columns").symlink_to(other)

    assert any(str(caches / "columns") in kept for kept in clean().kept)
    assert (other / "kept").exists()

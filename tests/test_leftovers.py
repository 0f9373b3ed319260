"""Notes of runs, and what a sweep does with them; with engines, see tests/engines."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from harness import leftovers, owner

US = owner.this_process()
DEAD = replace(US, started=US.started + 1)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(leftovers.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    return tmp_path / "state" / "fencepost"


def test_where_nothing_was_started_there_is_nothing_to_sweep():
    assert leftovers.sweep() == leftovers.Sweep()


def test_a_dead_run_loses_its_folders_and_its_note(tmp_path, run_id):
    data = tmp_path / "data"
    (data / "etcd-1").mkdir(parents=True)
    leftovers.leave_note(DEAD.marks(run_id), "local", [data, tmp_path / "never-made"])

    leftovers.sweep()

    assert not data.exists()
    assert list(leftovers.notes()) == []


def test_a_run_that_goes_on_keeps_them(tmp_path, run_id):
    leftovers.leave_note(US.marks(run_id), "local", [tmp_path])

    leftovers.sweep()

    assert tmp_path.exists()
    assert [note.run_id for note in leftovers.notes()] == [run_id]


def test_a_process_of_a_dead_run_is_ended_and_that_of_another_is_not(run_id):
    leftovers.leave_note(DEAD.marks(run_id), "local", [])
    with (
        subprocess.Popen(["sleep", "60"], env=owner.as_environment(DEAD.marks(run_id))) as left,
        subprocess.Popen(["sleep", "60"], env=owner.as_environment(US.marks("another"))) as ours,
    ):
        swept = leftovers.sweep()
        ended = left.poll()
        lives = ours.poll() is None
        left.kill()
        ours.kill()

    assert swept.removed == (f"process {left.pid}",)
    assert ended is not None
    assert lives


def test_what_docker_cannot_remove_now_is_kept_for_the_next_time(run_id, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///tmp/nothing-here.sock")
    leftovers.leave_note(DEAD.marks(run_id), "docker", [])

    swept = leftovers.sweep()

    assert swept.kept[0].startswith(f"run {run_id}: no Docker engine answers")
    assert [note.run_id for note in leftovers.notes()] == [run_id]


def test_a_note_that_cannot_be_read_is_passed_over(state):
    state.mkdir(parents=True)
    (state / "half-written.json").write_text('{"marks": {')

    assert leftovers.sweep() == leftovers.Sweep()


def test_where_the_state_folder_cannot_be_written_notes_go_to_the_temporary_one(state, tmp_path, run_id):
    state.parent.write_text("in the way")

    note = leftovers.leave_note(US.marks(run_id), "local", [])

    assert note.is_relative_to(tmp_path / "tmp")
    assert [found.run_id for found in leftovers.notes()] == [run_id]


def test_looking_for_leftovers_asks_no_engine_where_there_are_no_notes():
    code = "import sys; from harness.leftovers import sweep; sweep(); print('docker' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"

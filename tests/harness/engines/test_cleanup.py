"""Notes of runs, and sweeps by them; the engines' own tests cover sweeps of servers."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import InfrastructureError
from harness.engines import cleanup
from harness.engines.docker_removal import container_name
from harness.processes import ownership, run_notes
from tests.support.command import fencepost

US = ownership.this_process()
DEAD = replace(US, started=US.started + 1)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "tmp"))
    return tmp_path / "state" / "fencepost"


def test_without_runs_there_is_nothing_to_sweep() -> None:
    assert cleanup.sweep() == cleanup.Sweep()


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """A run's folder, with a recording and the servers' data."""
    folder = tmp_path / "runs" / "target" / "20260101T000000-abcdef"
    for name in ("logs", "events", "servers", "compose"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("something")
    (folder / "history.jsonl").write_text("{}")
    return folder


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make folders of other users")


def left_in(folder: Path) -> list[Any]:
    return sorted(path.name for path in folder.iterdir())


def write_note(state: Path, run_id: str, paths: list[Any], name: str = "note.json", **changed: Any) -> Path:
    """Write a dead run's note, with changes."""
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    note = {"marks": DEAD.marks(run_id), "engine": "local", "paths": [str(each) for each in paths]}
    file = state / name
    file.write_text(json.dumps(note | changed))
    return file


def test_a_dead_run_loses_its_work_folders_and_its_note(run_folder: Path, run_id: str) -> None:
    paths = [run_folder / "servers", run_folder / "compose"]
    run_notes.leave_note(DEAD.marks(run_id), "local", paths)

    swept = cleanup.sweep()

    assert left_in(run_folder) == ["events", "history.jsonl", "logs"]
    assert list(run_notes.read_notes().read) == []
    assert swept == cleanup.Sweep()


def test_a_dead_run_loses_its_temporary_folder(
    tmp_path: Path, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    data = run_notes.temporary_work_folder(run_id)
    (data / "etcd-1").mkdir(parents=True)
    run_notes.leave_note(DEAD.marks(run_id), "local", [data])

    cleanup.sweep()

    assert not data.exists()


def test_folders_that_a_run_never_created_are_ignored(tmp_path: Path, run_id: str) -> None:
    (tmp_path / "run" / "logs").mkdir(parents=True)
    run_notes.leave_note(
        DEAD.marks(run_id), "local", [tmp_path / "run" / "servers", tmp_path / "no" / "servers"]
    )

    assert cleanup.sweep() == cleanup.Sweep()
    assert list(run_notes.read_notes().read) == []


@pytest.mark.parametrize("name", ["", "history.jsonl", "events", "logs", "../target", "servers/../events"])
def test_notes_of_recorded_data_remove_nothing(state: Path, run_folder: Path, run_id: str, name: str) -> None:
    write_note(state, run_id, [f"{run_folder}/{name}"])

    swept = cleanup.sweep()

    assert left_in(run_folder) == ["compose", "events", "history.jsonl", "logs", "servers"]
    assert len(swept.notices) == 1
    assert "which is not a folder of a run" in swept.notices[0]


def outside(folder: Path) -> Path:
    shutil.move(folder / "servers", folder.parents[3] / "servers")
    return folder.parents[3] / "servers"


def behind_a_link(folder: Path) -> Path:
    (folder / "servers").rename(folder / "precious")
    (folder / "servers").symlink_to("precious")
    return folder / "servers"


def of_another_user(folder: Path) -> Path:
    os.chown(folder / "servers", 65534, -1)
    return folder / "servers"


@pytest.mark.parametrize(
    ("put", "why"),
    [
        (outside, "it is not in the folder of a run"),
        (behind_a_link, "symbolic link"),
        pytest.param(of_another_user, "it belongs to user 65534", marks=as_root),
    ],
)
def test_a_folder_that_may_be_somebody_elses_is_kept(
    state: Path, run_folder: Path, run_id: str, put: Callable[[Path], Path], why: str
) -> None:
    servers = put(run_folder)
    write_note(state, run_id, [servers])

    swept = cleanup.sweep()

    assert (servers / "file").exists()
    assert why in swept.kept[0]


def test_a_link_in_servers_data_is_kept(state: Path, tmp_path: Path, run_folder: Path, run_id: str) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("")
    (run_folder / "servers" / "link").symlink_to(tmp_path / "precious")
    write_note(state, run_id, [run_folder / "servers"])

    cleanup.sweep()

    assert not (run_folder / "servers").exists()
    assert (tmp_path / "precious" / "file").exists()


def test_no_link_in_the_path_is_followed(state: Path, tmp_path: Path, run_folder: Path, run_id: str) -> None:
    (tmp_path / "way").symlink_to(run_folder.parent)
    write_note(state, run_id, [tmp_path / "way" / run_folder.name / "servers"])

    cleanup.sweep()

    assert (run_folder / "servers" / "file").exists()


def behind_another_link(state: Path, _note: Path) -> None:
    state.rename(state.with_name("elsewhere"))
    state.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (behind_another_link, "it is a symbolic link"),
        (lambda state, _: state.chmod(0o777), "others may write to it (mode 0777)"),
        (lambda state, _: state.chmod(0o770), "others may write to it (mode 0770)"),
        (lambda state, _: state.chmod(0o1777), "others may write to it (mode 1777)"),
        pytest.param(
            lambda _, note: os.chown(note, 65534, -1), "{note}: it belongs to user 65534", marks=as_root
        ),
    ],
    ids=["link", "0777", "0770", "1777", "another user's"],
)
def test_notes_that_others_may_have_written_are_skipped(
    state: Path, run_folder: Path, run_id: str, change: Callable[[Path, Path], None], why: str
) -> None:
    note = write_note(state, run_id, [run_folder / "servers"])
    change(state, note)

    swept = cleanup.sweep()

    assert (run_folder / "servers").exists()
    assert why.format(note=note) in swept.notices[0]


@as_root
def test_notes_in_another_users_folder_are_skipped(tmp_path: Path, run_folder: Path, run_id: str) -> None:
    theirs = tmp_path / "tmp" / f"fencepost-state-{os.geteuid()}"
    write_note(theirs, run_id, [run_folder / "servers"])
    os.chown(theirs, 65534, -1)

    swept = cleanup.sweep()

    assert (run_folder / "servers").exists()
    assert len(swept.notices) == 1
    assert f"all in {theirs}: it belongs to user 65534" in swept.notices[0]


MALFORMED = {
    "half": '{"marks": {',
    "empty": "",
    "list": "[]",
    "deep": "[" * 60_000,
    "null": '{"marks": null, "engine": "local", "paths": []}',
    "number": '{"marks": {"fencepost": 7}, "engine": "local", "paths": []}',
    "unmarked": '{"marks": {}, "engine": "local", "paths": []}',
    "paths": '{"marks": {}, "engine": "local", "paths": [7]}',
    "nul": '{"marks": {}, "engine": "local", "paths": ["/a\\u0000b"]}',
    "large": " " * (1 << 17),
}


def test_malformed_notes_are_skipped_with_one_notice(state: Path) -> None:
    state.mkdir(parents=True, mode=0o700)
    for name, text in MALFORMED.items():
        (state / f"{name}.json").write_text(text)
    (state / "latin.json").write_bytes(b"\xff\xfe")
    (state / "folder.json").mkdir()
    (state / "link.json").symlink_to("/etc/passwd")
    os.mkfifo(state / "pipe.json")

    swept = cleanup.sweep()

    assert (swept.removed, swept.kept, len(swept.notices)) == ((), (), 1)
    assert "deep.json" in swept.notices[0]
    assert "and 9 more" in swept.notices[0]


def test_the_command_says_on_stderr_that_notes_were_skipped(tmp_path: Path) -> None:
    state = tmp_path / "state" / "fencepost"
    state.mkdir(parents=True, mode=0o700)
    (state / "half.json").write_text(MALFORMED["half"])
    (state / "nul.json").write_text(MALFORMED["nul"])

    done = fencepost(tmp_path, "recheck", "nothing", XDG_STATE_HOME=str(tmp_path / "state"))

    assert done.returncode == 4
    assert done.stdout == ""
    assert [line.startswith("notes of earlier runs were skipped") for line in done.stderr.splitlines()] == [
        True,
        False,
    ]


def test_the_folder_of_notes_is_private(state: Path, run_id: str) -> None:
    old = os.umask(0)
    try:
        note = run_notes.leave_note(US.marks(run_id), "local", [])
    finally:
        os.umask(old)

    assert [each.stat().st_mode & 0o777 for each in (note, state, state.parent)] == [0o600, 0o700, 0o700]


@as_root
def test_without_a_private_folder_a_run_is_refused(state: Path, tmp_path: Path, run_id: str) -> None:
    for folder in (state, tmp_path / "tmp" / f"fencepost-state-{os.geteuid()}"):
        folder.mkdir(parents=True)
        os.chown(folder, 65534, -1)

    with pytest.raises(InfrastructureError, match=r"it belongs to user 65534.*XDG_STATE_HOME"):
        run_notes.leave_note(US.marks(run_id), "local", [])


def test_a_run_in_progress_keeps_its_folders(tmp_path: Path, run_id: str) -> None:
    run_notes.leave_note(US.marks(run_id), "local", [tmp_path / "servers"])

    cleanup.sweep()

    assert tmp_path.exists()
    assert [note.run_id for note in run_notes.read_notes().read] == [run_id]


def test_a_note_stays_until_docker_removes_containers(run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///tmp/nothing-here.sock")
    run_notes.leave_note(DEAD.marks(run_id), "docker", [])

    swept = cleanup.sweep()

    assert swept.kept[0].startswith(f"run {run_id}: no Docker engine answers")
    assert [note.run_id for note in run_notes.read_notes().read] == [run_id]


def test_without_a_writable_state_folder_notes_do_not_last(state: Path, tmp_path: Path, run_id: str) -> None:
    state.parent.write_text("in the way")

    note = run_notes.leave_note(US.marks(run_id), "local", [])

    assert note.is_relative_to(tmp_path / "tmp")
    assert [found.run_id for found in run_notes.read_notes().read] == [run_id]


def test_without_notes_no_engine_is_asked_for_leftovers() -> None:
    code = "import sys; from harness.engines.cleanup import sweep; sweep(); print('docker' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


@pytest.mark.parametrize("names", [[], None])
def test_a_container_that_docker_is_removing_is_named_by_its_id(names: Any) -> None:
    assert container_name({"Names": names, "Id": "c70b41f90cf8d0"}) == "c70b41f90cf8"

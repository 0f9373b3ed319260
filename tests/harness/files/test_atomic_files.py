"""Atomic, private files under names that another user cannot have prepared, or could replace."""

import grp
import os
import pwd
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.clients.recorder import Recorder
from harness.core.errors import ConfigurationError, ResourceExhaustedError
from harness.files.atomic_files import replace_file, write_output
from harness.files.logs import open_log
from harness.files.private_folder import others_can_replace
from harness.files.run_folder import EVENTS, HEADER, LOGS, RunFolder
from harness.run.recheck import recheck
from tests.support.simulation import Simulation


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    file = tmp_path / "precious"
    file.write_text("mine")
    return file


def mode(path: Path) -> int:
    return path.lstat().st_mode & 0o777


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path, precious: Path) -> None:
    file = tmp_path / "report.html"
    file.symlink_to(precious)

    replace_file(file, ["page"])

    assert (file.read_text(), file.is_symlink(), precious.read_text()) == ("page", False, "mine")


def test_a_link_under_a_former_temporary_name_is_not_touched(tmp_path: Path, precious: Path) -> None:
    (tmp_path / ".report.html.new").symlink_to(precious)

    replace_file(tmp_path / "report.html", ["page"])

    assert precious.read_text() == "mine"


def test_a_link_under_the_temporary_name_is_never_written_through(
    tmp_path: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _bytes: "guessed")
    (tmp_path / ".fencepost-guessed.new").symlink_to(precious)

    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "report.html", ["page"])

    assert precious.read_text() == "mine"


def test_a_failed_write_leaves_only_the_old_file(tmp_path: Path) -> None:
    def chunks() -> Iterator[str]:
        yield "new"
        raise RuntimeError

    file = tmp_path / "verdict.json"
    file.write_text("old")

    with pytest.raises(RuntimeError):
        replace_file(file, chunks())

    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("verdict.json", "old")]


def test_files_are_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        replace_file(tmp_path / "verdict.json", [""])
        os.close(open_log(tmp_path / "client.log"))
        folder = RunFolder.create(tmp_path / "runs", "t")
        folder.write_json(HEADER, {})
    finally:
        os.umask(old)

    files = [tmp_path / "verdict.json", tmp_path / "client.log", folder.path / HEADER]
    folders = [folder.path / EVENTS, folder.path / LOGS, *[folder.path, *folder.path.parents][:3]]
    assert {mode(file) for file in files} == {0o600}
    assert {mode(each) for each in folders} == {0o700}


def test_a_requested_output_file_has_the_users_own_mode(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        write_output(tmp_path / "history.edn", ["[]"], force=False)
    finally:
        os.umask(old)

    assert mode(tmp_path / "history.edn") == 0o644


def test_a_link_named_as_output_is_followed_only_by_force(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "named").symlink_to(precious)

    with pytest.raises(ConfigurationError, match="exists and was not overwritten"):
        write_output(tmp_path / "named", ["[]"], force=False)
    assert precious.read_text() == "mine"

    write_output(tmp_path / "named", ["[]"], force=True)
    assert (precious.read_text(), (tmp_path / "named").is_symlink()) == ("[]", True)


def test_an_existing_runs_folder_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs").chmod(0o755)

    RunFolder.create(tmp_path / "runs", "t")

    assert mode(tmp_path / "runs") == 0o755


def test_a_log_is_not_opened_through_a_link(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "client.log").symlink_to(precious)

    with pytest.raises(OSError, match="symbolic links"):
        open_log(tmp_path / "client.log")


def test_a_client_records_into_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "client-0.jsonl").write_text("")

    with pytest.raises(FileExistsError):
        Recorder(tmp_path / "client-0.jsonl")


def test_unfinished_files_of_killed_processes_are_removed_later(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "t")
    old, new = (folder.path / f".fencepost-{name}.new" for name in ("old", "new"))
    for left in (old, new):
        left.write_text("half")
    os.utime(old, (0, 0))

    with folder.in_use():
        assert not old.exists()
        assert new.exists()


class Full:
    """A disk with room for so many more bytes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.written = b""
        self.lock = threading.Lock()

    def write(self, _file: int, text: bytes) -> int:
        with self.lock:
            if not self.room:
                raise OSError(28, "No space left on device")
            taken = text[: self.room]
            self.room -= len(taken)
            self.written += taken
            return len(taken)


def test_after_half_an_event_nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Full(100)
    recorder = Recorder(tmp_path / "events.jsonl")
    monkeypatch.setattr("harness.clients.recorder.os.write", disk.write)
    recorder.record({"time": 1})

    with pytest.raises(ResourceExhaustedError, match=r"events\.jsonl cannot be written: the disk is full"):
        recorder.record({"value": "x" * 200})
    disk.room = 100
    with pytest.raises(ResourceExhaustedError):
        recorder.record({"time": 2})

    assert disk.written.startswith(b'{"time":1}\n{"value":"xx')
    assert b'"time":2' not in disk.written


def test_a_full_disk_for_a_report_keeps_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "history.jsonl").write_text("".join(Simulation(seed=1).lines()))

    def full(_path: Path, _judged: object) -> None:
        raise OSError(28, "No space left on device", str(folder / "report.html"))

    monkeypatch.setattr("harness.run.recheck._write_reports", full)

    judged = recheck(folder)

    assert judged.document.verdict in {"valid", "invalid", "unknown"}
    assert str(judged.failure) == f"{folder}/report.html cannot be written: the disk is full; free some space"


USER = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "above").mkdir()
    made = tmp_path / "above" / "file"
    made.touch(0o600)
    return made


def test_a_file_in_a_folder_of_the_user_is_not_replaced(file: Path) -> None:
    assert not others_can_replace(file)


def test_a_folder_in_which_only_owners_replace_files_is_safe(file: Path) -> None:
    file.parent.chmod(0o1777)

    assert not others_can_replace(file)


def test_the_file_itself_counts_not_the_link_to_it(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file)
    file.parent.chmod(0o777)

    assert others_can_replace(tmp_path / "link")


@pytest.mark.parametrize(
    ("group", "members", "is_exposed"),
    [(USER, [], False), (USER, [USER], False), (USER, ["eve"], True), ("staff", [], True)],
)
def test_a_group_counts_unless_it_is_the_users_own(
    file: Path, monkeypatch: pytest.MonkeyPatch, group: str, members: list[str], is_exposed: bool
) -> None:
    monkeypatch.setattr(grp, "getgrgid", lambda _: SimpleNamespace(gr_name=group, gr_mem=members))
    file.parent.chmod(0o775)

    assert others_can_replace(file) is is_exposed

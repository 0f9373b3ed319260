"""The run folder: atomic files, one merge of the history, no early judgment, and its link `latest`."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from checkers.history.commits import read_commits
from checkers.history.records import Commit
from checkers.text import limits
from harness.core.errors import ConfigurationError, InfrastructureError
from harness.files import dated_folders
from harness.files.received import LATEST
from harness.files.run_folder import COMMITS, EVENTS, HEADER, RunFolder
from harness.run.recheck import recheck
from tests.support.command import fencepost
from tests.support.recorded_runs import Unpack
from workloads.client import Unknown

HEAD = {"fencepost": 1, "target": "t", "fenced": True, "policy": "strict"}


def event(time: int, process: int, kind: str, **more: Any) -> str:
    return json.dumps({"time": time, "process": process, "type": kind, "f": "read", "resource": "r0", **more})


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder.create(tmp_path, "t")
    made.write_json(HEADER, HEAD, indent=None)
    return made


def record(folder: RunFolder, name: str, *lines: str) -> None:
    (folder.path / EVENTS / name).write_text("".join(lines))


def test_the_newest_run_is_called_latest(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, "t")
    second = RunFolder.create(tmp_path, "t")

    assert (tmp_path / "t" / "latest").resolve() == second.path


def test_recordings_are_merged_by_time(folder: RunFolder) -> None:
    record(folder, "client-0.jsonl", event(1, 0, "invoke") + "\n", event(4, 0, "info") + "\n")
    record(folder, "client-1.jsonl", event(2, 1, "invoke") + "\n", event(3, 1, "info") + "\n")

    lines = folder.merge_events(pytest.fail).read_text().splitlines()

    assert json.loads(lines[0]) == HEAD
    assert [json.loads(line)["time"] for line in lines[1:]] == [1, 2, 3, 4]


def _cut_off(lines: list[str]) -> list[str]:
    return lines[:4]


def _without_one(lines: list[str]) -> list[str]:
    return [*lines[:3], *lines[4:]]


def _with_one_replaced(lines: list[str]) -> list[str]:
    return [*lines[:3], "{}\n", *lines[4:]]


@pytest.mark.parametrize("damaged", [_cut_off, _without_one, _with_one_replaced])
def test_a_history_that_lacks_recorded_events_is_not_judged(
    folder: RunFolder, damaged: Callable[[list[str]], list[str]]
) -> None:
    record(folder, "client-0.jsonl", event(1, 0, "invoke") + "\n", event(4, 0, "info") + "\n")
    record(folder, "client-1.jsonl", *(event(time, 1, "invoke") + "\n" for time in range(5, 25)))
    history = folder.merge_events(pytest.fail)
    whole = history.read_text()
    history.write_text("".join(damaged(whole.splitlines(keepends=True))))
    bytes_of_both = rf"{history.stat().st_size:,} bytes, but .* make {len(whole):,}: "

    with pytest.raises(ConfigurationError, match=bytes_of_both) as refused:
        recheck(folder.path)

    assert "lines are missing or were changed; remove it, and " in str(refused.value)
    history.unlink()
    assert folder.merge_events(pytest.fail).read_text() == whole


def test_a_half_written_last_line_is_dropped_with_a_notice(folder: RunFolder) -> None:
    record(folder, "client-0.jsonl", event(1, 0, "invoke") + "\n", event(4, 0, "info")[:20])
    notices: list[Any] = []

    lines = folder.merge_events(notices.append).read_text().splitlines()

    assert len(lines) == 2
    assert len(notices) == 1
    assert "client-0.jsonl" in notices[0]


def test_an_existing_history_is_never_merged_again(folder: RunFolder) -> None:
    record(folder, "client-0.jsonl", event(1, 0, "invoke") + "\n")
    history = folder.merge_events(pytest.fail)
    edited = history.read_text().replace('"r0"', '"another"')
    history.write_text(edited)

    assert folder.merge_events(pytest.fail).read_text() == edited


def test_a_run_in_progress_is_not_judged_by_others(folder: RunFolder) -> None:
    with folder.in_use(), pytest.raises(ConfigurationError, match="in progress"):
        recheck(folder.path)

    assert not (folder.path / "history.jsonl").exists()


def test_a_run_without_events_proves_nothing(folder: RunFolder) -> None:
    assert recheck(folder.path).document.verdict == "unknown"


def test_a_run_without_a_header_is_refused(folder: RunFolder) -> None:
    (folder.path / HEADER).unlink()

    with pytest.raises(ConfigurationError, match="before its clients started"):
        recheck(folder.path)


def test_a_runs_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="--runs"):
        RunFolder.create(tmp_path / "file", "t")


def test_commits_and_fences_survive_a_round_trip(folder: RunFolder) -> None:
    committed = (
        Commit(seq=1, resource="r0", token=3, value="a"),
        Commit(seq=2, resource="r0", token=4, fence=True),
        Commit(seq=3, resource="r0", token=None, value=None),
    )

    folder.write_commits(committed)

    again = read_commits(folder.path / COMMITS)
    assert tuple(replace(each, line=0, file="commits.jsonl") for each in again) == committed
    fence_line = (folder.path / COMMITS).read_text().splitlines()[1]
    assert json.loads(fence_line) == {"seq": 2, "resource": "r0", "token": 4, "fence": True}


def test_a_commit_that_could_not_be_read_again_is_not_written(folder: RunFolder) -> None:
    committed = [
        Commit(seq=seq, resource="r0", token=seq, value=text)
        for seq, text in ((1, "a"), (2, "é" * limits.LINE))
    ]

    why = r"entry 2 takes 6,\d{3},\d{3} bytes, and at most 1 MiB can be read again"
    with pytest.raises(InfrastructureError, match=why):
        folder.write_commits(committed)
    assert not (folder.path / COMMITS).exists()


@pytest.mark.parametrize(
    ("recorded", "why"),
    [
        (0, "16 MiB, the most for 0 bytes"),
        (300 * limits.KIB, "17.17 MiB, the most for 300 KiB"),
        (2 * limits.MIB, "20 MiB, the most for 2 MiB"),
    ],
)
def test_commits_without_end_are_not_written(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, recorded: int, why: str
) -> None:
    monkeypatch.setattr(limits, "COMMITS", 20 * limits.MIB)
    record(folder, "client-0.jsonl", "x" * recorded)
    taken = itertools.count(1)
    endless = (Commit(seq=seq, resource="r0", token=seq, value="x" * 100_000) for seq in taken)

    with pytest.raises(Unknown, match=f"it has more than {why} that the clients recorded; make sure that"):
        folder.write_commits(endless)
    assert next(taken) < 220
    assert [each.name for each in folder.path.iterdir() if each.is_file()] == [HEADER]


def test_it_names_the_newest_folder(tmp_path: Path) -> None:
    assert dated_folders.latest(tmp_path) is None
    for _ in range(2):
        newest = dated_folders.create(tmp_path)
        assert dated_folders.latest(tmp_path) == newest


@pytest.mark.parametrize("leads_to", ["../mine", "{outside}", "nothing", "a/b", ".", "..", LATEST, "file"])
def test_a_link_that_is_not_ours_is_refused(tmp_path: Path, leads_to: str) -> None:
    (tmp_path / "mine").mkdir()
    theirs = tmp_path / "theirs"
    (theirs / "a" / "b").mkdir(parents=True)
    (theirs / "file").touch()
    (theirs / LATEST).symlink_to(leads_to.format(outside=tmp_path / "mine"))

    with pytest.raises(ConfigurationError, match="latest is not a link to a folder beside it"):
        dated_folders.latest(theirs)


@pytest.mark.parametrize("command", [["recheck"], ["shrink", "--no-runs"], ["show"], ["corpus", "add"]])
def test_in_a_received_folder_it_does_not_lead_to_another_run(
    recorded_run: Unpack, tmp_path: Path, command: list[str]
) -> None:
    mine = recorded_run("etcd-postgres-unfenced")
    before = {path.name: path.stat().st_mtime_ns for path in mine.iterdir()}
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / LATEST).symlink_to(mine)

    done = fencepost(tmp_path, *command, str(theirs))

    assert (done.returncode, len(done.stderr.splitlines())) == (4, 1), done.stderr
    assert "latest is not a link to a folder beside it; name the folder that you mean" in done.stderr
    assert {path.name: path.stat().st_mtime_ns for path in mine.iterdir()} == before
    assert [path.name for path in theirs.iterdir()] == [LATEST]


def test_a_link_that_the_user_types_is_followed(recorded_run: Unpack, tmp_path: Path) -> None:
    (tmp_path / LATEST).symlink_to(recorded_run("etcd-postgres-unfenced"))

    assert fencepost(tmp_path, "recheck", LATEST).returncode == 0


def test_a_run_is_judged_despite_a_link_in_it(recorded_run: Unpack, tmp_path: Path) -> None:
    mine, theirs = recorded_run("etcd-postgres-unfenced"), recorded_run("etcd-postgres")
    (theirs / LATEST).symlink_to(mine)

    assert "etcd-postgres  " in fencepost(tmp_path, "recheck", str(theirs)).stdout

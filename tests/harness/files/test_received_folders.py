"""Run folders and histories from strangers: refused immediately in one sentence, and not changed."""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkers.text import limits
from checkers.text.errors import HistoryError
from harness.core.errors import ConfigurationError
from harness.files import run_files
from harness.files.run_folder import EVENTS, HEADER, HISTORY
from harness.run.recheck import recheck
from harness.run.show import show
from tests.support.command import fencepost
from tests.support.repository import ROOT
from tests.support.simulation import Simulation

SECONDS = 120  # far more than needed, even on a busy machine
DEEP = "[" * 100_000 + "]" * 100_000 + "}"
HEAD = {"fencepost": 1, "target": "t", "fenced": True, "policy": "strict"}
READ_FILES = sorted(set(run_files.MOST) - {HEADER, run_files.REPORT})


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a judged run; a test gets a copy."""
    made = tmp_path_factory.mktemp("judged")
    (made / EVENTS).mkdir()
    (made / HISTORY).write_text("".join(Simulation(seed=1).lines()))
    (made / "commits.jsonl").write_text("")
    (made / "plan.json").write_text('{"seed":1,"faults":[]}')
    (made / "environment.json").write_text("{}")
    (made / "target.toml").write_text("")
    recheck(made)
    return made


@pytest.fixture
def folder(judged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(judged, tmp_path / "runs" / "t" / "1"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "cost"),
    [
        ("header.json", "{", "nothing is lost: the history has the same header"),
        ("plan.json", '{"faults": 7}', "whether the run was interrupted"),
        ("plan.json", '{"planned": ' + DEEP, "whether the run was interrupted"),
        ("environment.json", "[]", "the options that repeat the run are not known"),
        ("environment.json", '{"again": ' + DEEP, "the options that repeat the run are not known"),
        ("target.toml", "name = ", "the run cannot be repeated from it"),
    ],
    ids=["header", "plan", "deep plan", "environment", "deep environment", "target"],
)
def test_a_broken_file_gives_a_notice_with_its_cost(folder: Path, name: str, text: str, cost: str) -> None:
    (folder / name).write_text(text)

    done = fencepost(folder, "recheck", str(folder), "--format", "json")

    (notice,) = (line for line in done.stderr.splitlines() if " could not be read: " in line)
    assert notice.startswith(f"note: {name} could not be read: ")
    assert cost in notice
    assert json.loads(done.stdout)["verdict"]


def pipe(path: Any) -> None:
    os.mkfifo(path)


def a_socket(path: Any) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(path.parent)  # a socket's path may have at most 108 characters
        made.bind(path.name)


def device(path: Any) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("no device can be made here")


def a_folder(path: Any) -> None:
    path.mkdir()


def link_out(path: Any) -> None:
    path.symlink_to("/etc/passwd")


def link_to_a_device(path: Any) -> None:
    path.symlink_to("/dev/zero")


def link_up(path: Any) -> None:
    (path.parent.parent / "outside").write_text("{}")
    path.symlink_to("../outside")


def circle(path: Any) -> None:
    path.symlink_to(path.name)


def too_large(path: Any) -> None:
    with path.open("wb") as file:
        file.truncate(run_files.MOST[path.name] + 1)


KINDS = {
    pipe: "this is a pipe, and only regular files are read",
    a_socket: "this is a socket, and only regular files are read",
    device: "this is a device, and only regular files are read",
    a_folder: "this is a folder, and only regular files are read",
    link_out: "this is a symbolic link, and only regular files are read",
    link_to_a_device: "this is a symbolic link, and only regular files are read",
    link_up: "this is a symbolic link, and only regular files are read",
    circle: "a symbolic link",
    too_large: "it has more than ",
}


def contents(folder: Path) -> dict[Any, Any]:
    return {path.name: path.lstat().st_mtime_ns for path in folder.iterdir() if path.name != EVENTS}


def refused(done: Any, *words: str) -> None:
    """Check that it ended with one sentence with these words, and exit code 4."""
    assert done.returncode == 4, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_special_files_and_links_in_a_run_folder_are_refused(
    folder: Path, kind: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in READ_FILES:
        kept = (folder / name).rename(tmp_path / "kept")
        kind(folder / name)
        before = contents(folder)
        os.chdir(tmp_path)

        with pytest.raises(HistoryError) as caught:
            run_files.check(folder)

        assert str(caught.value).startswith(f"{folder / name}: ")
        assert KINDS[kind] in str(caught.value)
        assert contents(folder) == before
        (folder / name).rmdir() if kind is a_folder else (folder / name).unlink()
        kept.rename(folder / name)


@pytest.mark.parametrize(
    ("command", "name", "kind"),
    [("recheck", HISTORY, pipe), ("recheck", "plan.json", pipe), ("show", "plan.json", link_to_a_device)],
)
def test_the_commands_refuse_special_files_immediately(
    folder: Path, command: str, name: str, kind: Callable[..., Any], tmp_path: Path
) -> None:
    (folder / name).unlink()
    kind(folder / name)

    done = fencepost(tmp_path, command, str(folder), timeout=SECONDS)

    refused(done, str(folder / name), KINDS[kind])


@pytest.mark.parametrize("kind", [pipe, link_out, too_large], ids=lambda kind: kind.__name__)
def test_an_irregular_report_is_not_opened(folder: Path, kind: Callable[..., Any], tmp_path: Path) -> None:
    (folder / "report.html").unlink()
    kind(folder / "report.html")

    refused(fencepost(tmp_path, "show", str(folder), timeout=SECONDS), "report.html", KINDS[kind])


def killed(folder: Path) -> None:
    """Turn it into the folder of a killed run: nothing is merged yet."""
    (folder / HISTORY).unlink()
    (folder / HEADER).write_text(json.dumps(HEAD))


@pytest.mark.parametrize("kind", [pipe, link_out, link_to_a_device], ids=lambda kind: kind.__name__)
def test_a_recording_is_a_regular_file_inside(folder: Path, kind: Callable[..., Any], tmp_path: Path) -> None:
    killed(folder)
    kind(folder / EVENTS / "client-0.jsonl")

    refused(fencepost(tmp_path, "recheck", str(folder), timeout=SECONDS), "client-0.jsonl", KINDS[kind])
    assert not (folder / HISTORY).exists()


def test_the_events_folder_must_be_in_the_run_folder(folder: Path, tmp_path: Path) -> None:
    killed(folder)
    (folder / EVENTS).rmdir()
    (tmp_path / "elsewhere").mkdir()
    (folder / EVENTS).symlink_to(tmp_path / "elsewhere")

    refused(
        fencepost(tmp_path, "recheck", str(folder)),
        "events: this is a symbolic link, and a folder is expected",
    )


def test_the_recordings_of_all_processes_have_a_size_limit(folder: Path, tmp_path: Path) -> None:
    killed(folder)
    for number in range(3):
        with (folder / EVENTS / f"client-{number}.jsonl").open("wb") as file:
            file.truncate(limits.HISTORY // 2)

    refused(fencepost(tmp_path, "recheck", str(folder)), "its files have 3 GiB, but at most 2 GiB are read")


def test_the_number_of_event_files_is_limited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EVENT_FILES", 3)
    for number in range(4):
        (folder / EVENTS / f"client-{number}.jsonl").write_text("")

    with pytest.raises(HistoryError, match="it has more than 3 files"):
        run_files.check(folder)


def test_columns_in_a_received_folder_are_ignored(folder: Path) -> None:
    before = recheck(folder).document
    for name in ("columns.npz", ".columns.npz.new"):
        np.savez(folder / name, f=np.zeros(3))
    os.mkfifo(folder / "columns.npz.pipe")

    assert recheck(folder).document.anomalies == before.anomalies


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/dev/zero", "regular file"),
        ("/dev/urandom", "regular file"),
        ("/proc/self/mem", "/mem"),
        ("/proc/self/pagemap", "/pagemap"),
        ("/proc/kcore", "/proc/kcore"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--model", "register"]], ids=["ours", "model"])
def test_a_virtual_file_is_not_a_history(path: str, words: str, more: list[str], tmp_path: Path) -> None:
    if not Path(path).exists():
        pytest.skip(f"there is no {path} here")

    done = fencepost(tmp_path, "recheck", path, *more, timeout=SECONDS)

    refused(done, words)


@pytest.mark.slow
def test_a_history_from_a_redirected_file_is_judged(folder: Path) -> None:
    """/dev/stdin is then a regular file."""
    command = [sys.executable, "-m", "harness.cli", "recheck", "--format", "json", "/dev/stdin"]
    with (folder / HISTORY).open("rb") as history:
        done = subprocess.run(command, stdin=history, capture_output=True, check=False, cwd=ROOT)

    assert json.loads(done.stdout)["verdict"] == recheck(folder / HISTORY).document.verdict


def test_a_history_that_the_user_names_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").symlink_to(folder / HISTORY)

    assert recheck(tmp_path / "mine.jsonl").document.verdict == recheck(folder / HISTORY).document.verdict


@pytest.mark.parametrize("left", ["verdict.json", "plan.json", "nothing"])
def test_a_folder_without_a_history_has_nothing_to_show(folder: Path, left: str) -> None:
    keep_only(folder, left)

    with pytest.raises(ConfigurationError, match="is not a run folder: it has neither") as caught:
        show(folder, environment={})

    assert "\n" not in str(caught.value)


def keep_only(folder: Path, left: str) -> None:
    for path in folder.iterdir():
        if path.name != left:
            path.rmdir() if path.name == EVENTS else path.unlink()

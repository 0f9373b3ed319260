"""A word on the command line names a target's newest run, a folder or a file."""

from pathlib import Path
from typing import Any

import pytest

from harness.cli.selection import any_history, file_or_folder, run_folder
from harness.core.errors import ConfigurationError
from tests.support.repository import HISTORIES

RUNS = Path("runs")
RECORDED = HISTORIES / "valid/strict-own-token.jsonl"


@pytest.fixture(autouse=True)
def newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The newest run of the target `mine`, in the current folder's `runs`."""
    monkeypatch.chdir(tmp_path)
    for name in ("20260101T000000-aaaaaa", "20260102T000000-bbbbbb"):
        run = RUNS / "mine" / name
        run.mkdir(parents=True)
        (run / "history.jsonl").write_bytes(RECORDED.read_bytes())
    (RUNS / "mine" / "latest").symlink_to(run.name)
    return run


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_plain_name_is_the_run(newest: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    Path("mine").mkdir() if kind == "folder" else Path("mine").write_text("my notes")

    found = run_folder("mine", RUNS)
    said = capsys.readouterr().err

    assert found == newest
    assert said == f"mine is taken as the newest run of that target, {newest}; for the {kind} write ./mine\n"
    assert any_history("mine", RUNS) == newest / "history.jsonl"


def test_nothing_is_said_where_a_name_has_one_meaning(
    newest: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_current_folder = run_folder("mine", RUNS)
    monkeypatch.chdir(RUNS)
    here = run_folder("mine", Path())

    assert (in_current_folder, RUNS / here) == (newest, newest)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("word", ["./mine", "here/mine", "mine.jsonl"])
def test_a_path_or_a_name_with_a_suffix_stays_a_file(word: str) -> None:
    Path("here").mkdir()
    Path(word).write_bytes(RECORDED.read_bytes())
    (RUNS / "mine.jsonl").symlink_to("mine")

    assert file_or_folder(word, RUNS) == Path(word)


def test_a_name_with_a_dot_is_a_target_where_there_is_no_such_file() -> None:
    (RUNS / "mine").rename(RUNS / "mine-3.6")

    assert run_folder("mine-3.6", RUNS).parent == RUNS / "mine-3.6"


def test_a_target_without_a_run_does_not_hide_a_file() -> None:
    (RUNS / "other").mkdir()
    Path("other").write_bytes(RECORDED.read_bytes())

    assert any_history("other", RUNS) == Path("other")


@pytest.mark.parametrize(
    ("file", "remedy"), [("mine.toml", "mine"), ("new.toml", "its target's name, or the run's folder")]
)
def test_a_target_file_is_refused_with_the_name_of_its_run(file: str, remedy: str) -> None:
    Path(file).write_text('name = "mine"')

    for find in (run_folder, any_history):
        with pytest.raises(ConfigurationError) as refused:
            find(file, RUNS)
        assert str(refused.value) == f"{file} is a target file; name a run of it: {remedy}"


def test_the_target_file_in_a_run_stands_for_the_run(newest: Path) -> None:
    (newest / "target.toml").write_text('name = "mine"')

    assert run_folder(f"{newest}/target.toml", RUNS) == newest
    assert any_history(f"{newest}/target.toml", RUNS) == newest / "history.jsonl"


@pytest.mark.parametrize(
    "command", [("show",), ("shrink",), ("recheck",), ("export", "--to", "jepsen-edn"), ("corpus", "add")]
)
def test_a_folder_that_is_no_run_is_refused_with_a_remedy(fencepost: Any, command: tuple[str, ...]) -> None:
    Path("notes").mkdir()
    for name in ("a.txt", "b.json"):
        Path("notes", name).write_text("no history")

    done = fencepost(*command, "notes")

    assert done.returncode == 4
    assert done.stderr == (
        "notes is not a run folder: it has no history.jsonl;"
        " name a run's folder, a target that has run, or a history file\n"
    )
    assert done.stdout == ""


@pytest.mark.parametrize("command", [("show",), ("shrink",), ("corpus", "add")])
def test_a_file_outside_of_a_run_is_named_as_typed(refusal: Any, command: tuple[str, ...]) -> None:
    Path("bin").write_bytes(b"\x7fELF")

    said = refusal(*command, "./bin")

    assert said == "./bin is not in the folder of a run: name that folder, or a file in it\n"


def test_the_commands_take_the_run_of_a_name(fencepost: Any, newest: Path) -> None:
    Path("mine").write_text("my notes")

    judged = fencepost("recheck", "mine", "--format", "json")
    exported = fencepost("export", "mine", "--to", "jepsen-edn")

    assert judged.returncode in {0, 2}
    assert exported.returncode == 0
    assert f'"history":"{newest.resolve()}' in judged.stdout.replace(" ", "")
    assert all("mine is taken as the newest run" in done.stderr for done in (judged, exported))

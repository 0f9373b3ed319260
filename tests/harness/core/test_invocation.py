import sys
from pathlib import Path
from typing import Any

import pytest

from harness.core.invocation import Repetition, again, typed


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in a subfolder of the current folder, not on PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    file = tmp_path / ".venv" / "bin" / "fencepost"
    file.parent.mkdir(parents=True)
    file.touch(mode=0o755)
    return file


def start_as(monkeypatch: Any, path: Path | str) -> None:
    monkeypatch.setattr(sys, "argv", [str(path)])


@pytest.mark.parametrize(
    ("started_as", "path", "folder", "shown"),
    [
        ("{program}", "/nowhere", ".", ".venv/bin/fencepost"),
        (".venv/bin/fencepost", "/nowhere", ".", ".venv/bin/fencepost"),
        ("{program}", "/nowhere", ".venv/bin", "./fencepost"),
        ("{program}", "{bin}", ".", "fencepost"),
        ("{program}", "{other}", ".", ".venv/bin/fencepost"),
        ("{bin}/pytest", "/nowhere", ".", "fencepost"),
    ],
    ids=["not on PATH", "relative", "in the current folder", "on PATH", "another on PATH", "another name"],
)
def test_a_program_is_named_as_the_shell_here_finds_it(
    program: Path, monkeypatch: pytest.MonkeyPatch, started_as: str, path: str, folder: str, shown: str
) -> None:
    other = Path("other/fencepost").absolute()
    other.parent.mkdir()
    other.touch(mode=0o755)
    places = {"program": program, "bin": program.parent, "other": other.parent}
    start_as(monkeypatch, started_as.format(**places))
    monkeypatch.setenv("PATH", path.format(**places))
    monkeypatch.chdir(folder)

    assert typed("recheck", Path("my runs")) == f"{shown} recheck 'my runs'"


def test_a_run_is_repeated_by_a_command_for_any_folder(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_as(monkeypatch, ".venv/bin/fencepost")

    command = again(Path("runs/t/1/target.toml"), 7, Repetition(options=("--engine", "local")))

    here = Path.cwd()
    assert str(command) == f"{program} run {here}/runs/t/1/target.toml --seed 7 --engine local"


def test_a_program_whose_path_looks_like_an_assignment_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    file = tmp_path / "a=b" / "fencepost"
    file.parent.mkdir()
    file.touch(mode=0o755)
    start_as(monkeypatch, file)

    assert typed("run", "t") == "'a=b/fencepost' run t"

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


def test_a_program_not_on_path_is_named_by_its_relative_path(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_as(monkeypatch, program)
    assert typed("recheck", Path("my runs")) == ".venv/bin/fencepost recheck 'my runs'"

    start_as(monkeypatch, ".venv/bin/fencepost")
    assert typed("doctor") == ".venv/bin/fencepost doctor"


def test_a_program_in_the_current_folder_is_named_as_a_shell_needs_it(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    start_as(monkeypatch, program)

    assert typed("doctor") == "./fencepost doctor"


def test_a_program_on_path_is_named_by_its_name(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start_as(monkeypatch, program)
    monkeypatch.setenv("PATH", str(program.parent))

    assert typed("doctor") == "fencepost doctor"


def test_another_program_with_that_name_on_path_is_not_this_one(
    program: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "fencepost"
    other.parent.mkdir()
    other.touch(mode=0o755)
    start_as(monkeypatch, program)
    monkeypatch.setenv("PATH", str(other.parent))

    assert typed("doctor") == ".venv/bin/fencepost doctor"


def test_a_run_is_repeated_by_a_command_for_any_folder(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_as(monkeypatch, ".venv/bin/fencepost")

    command = again(Path("runs/t/1/target.toml"), 7, Repetition(options=("--engine", "local")))

    here = Path.cwd()
    assert str(command) == f"{program} run {here}/runs/t/1/target.toml --seed 7 --engine local"


def test_a_program_started_under_another_name_gets_the_plain_name(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_as(monkeypatch, program.with_name("pytest"))

    assert typed("doctor") == "fencepost doctor"


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

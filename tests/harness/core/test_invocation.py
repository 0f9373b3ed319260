import sys
from pathlib import Path
from typing import Any

import pytest

from harness.core.invocation import typed


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in a folder of the current one, which is not on PATH."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    file = tmp_path / ".venv" / "bin" / "fencepost"
    file.parent.mkdir(parents=True)
    file.touch(mode=0o755)
    return file


def start_as(monkeypatch: Any, path: Path | str) -> None:
    monkeypatch.setattr(sys, "argv", [str(path)])


def test_a_program_that_is_not_on_path_is_told_by_its_path_from_here(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_as(monkeypatch, program)
    assert typed("recheck", Path("my runs")) == ".venv/bin/fencepost recheck 'my runs'"

    start_as(monkeypatch, ".venv/bin/fencepost")
    assert typed("doctor") == ".venv/bin/fencepost doctor"


def test_a_program_in_the_current_folder_is_told_as_a_shell_finds_it(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program.parent)
    start_as(monkeypatch, program)

    assert typed("doctor") == "./fencepost doctor"


def test_a_program_that_the_shell_finds_is_told_by_its_name(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_as(monkeypatch, program)
    monkeypatch.setenv("PATH", str(program.parent))

    assert typed("doctor") == "fencepost doctor"


def test_another_program_of_that_name_on_path_is_not_taken_for_it(
    program: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "fencepost"
    other.parent.mkdir()
    other.touch(mode=0o755)
    start_as(monkeypatch, program)
    monkeypatch.setenv("PATH", str(other.parent))

    assert typed("doctor") == ".venv/bin/fencepost doctor"


def test_what_was_started_by_another_name_is_told_by_the_plain_one(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_as(monkeypatch, program.with_name("pytest"))

    assert typed("doctor") == "fencepost doctor"

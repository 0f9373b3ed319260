"""A command that cannot be started is refused with the reason and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.processes.program import missing


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("./lock.py", "./lock.py is not executable: run chmod +x ./lock.py"),
        (
            "lock.py",
            "there is no executable program lock.py on PATH; for the file in the current folder write ./lock.py",
        ),
        ("./folder", "folder is a folder, not a program"),
        ("./none", "there is no executable program ./none from the current folder, {here}"),
        ("/none/at/all", "there is no executable program /none/at/all"),
        ("no-such-program", "there is no executable program no-such-program on PATH"),
    ],
)
def test_a_command_that_cannot_start_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lock.py").write_text("")
    (tmp_path / "folder").mkdir()

    assert missing((word,)) == why.format(here=tmp_path)


def test_an_executable_file_is_not_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lock.sh").touch(mode=0o755)

    assert missing(("./lock.sh",)) is None

"""Temporary folders: noted, so that those of killed processes are removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.engines import cleanup
from harness.processes import run_notes

KILLED = """
import os, signal
from harness.processes.run_notes import temporary_folder
with temporary_folder():
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, empty; notes lie beside it."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(folder))
    return folder


def test_a_temporary_folder_goes_with_its_block(temporary: Path) -> None:
    with run_notes.temporary_folder() as folder:
        (folder / "file").write_text("something")
        assert [note.paths for note in run_notes.read_notes().read] == [(folder,)]

    assert list(temporary.iterdir()) == []
    assert list(run_notes.read_notes().read) == []


def test_the_temporary_folder_of_a_killed_process_is_swept(temporary: Path) -> None:
    environment = os.environ | {"TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False)
    assert len(list(temporary.iterdir())) == 1

    assert cleanup.sweep() == cleanup.Sweep()

    assert list(temporary.iterdir()) == []
    assert list(run_notes.read_notes().read) == []

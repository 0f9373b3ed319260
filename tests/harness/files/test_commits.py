"""The commits of Fencepost's own repository, and of the one that is tested."""

import subprocess
from pathlib import Path

import pytest

from harness.files import environment
from tests.support.repository import ROOT


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, as the current folder."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "mine.toml").write_text("")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "one")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_the_tested_commit_is_that_of_the_current_folder(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD").strip()

    assert environment.tested_commit() == commit
    (repository / "mine.toml").write_text("changed")
    assert environment.tested_commit() == f"{commit}-dirty"


def test_fencepost_and_no_repository_are_not_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    folder = tmp_path / "none"
    folder.mkdir()
    for place in (folder, ROOT / "tests"):
        monkeypatch.chdir(place)

        assert environment.tested_commit() is None


def test_packages_in_a_repository_have_no_commit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = repository / "venv/harness/files/environment.py"
    installed.parent.mkdir(parents=True)
    installed.write_text("")
    monkeypatch.setattr(environment, "__file__", str(installed))

    assert environment.git_commit() is None


def test_no_program_of_the_repository_is_started(repository: Path, tmp_path: Path) -> None:
    program = tmp_path / ".git/monitor"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    program.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(program))
    (tmp_path / "started").unlink(missing_ok=True)

    assert environment.tested_commit()
    assert not (tmp_path / "started").exists()

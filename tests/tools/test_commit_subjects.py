"""The subjects of the commits of a push are checked, those of earlier commits and of merges are not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.command import ran
from tests.support.repository import ROOT
from tools.commit_subjects import wrong


class Repository:
    """A repository with a commit on `main`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("Initial commit")

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=maintainer", "-c", "user.email=maintainer@localhost"]
        command = ["git", "-C", str(self._folder), *identity, *arguments]
        return ran(command, check=True).stdout.strip()

    def commit(self, message: str) -> str:
        """Return the new commit's name."""
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.chdir(tmp_path)
    return Repository(tmp_path)


@pytest.mark.parametrize(
    "subject", ["docs: x", "docs, schemas: x", "pytest plugin: x", "log_order: x", f"docs: {'x' * 66}"]
)
def test_a_subject_that_starts_with_its_part_is_right(repository: Repository, subject: str) -> None:
    repository.commit(subject)

    assert list(wrong("HEAD", ["HEAD~1"])) == []


@pytest.mark.parametrize("subject", ["Fix docs", "docs:x", "docs", "a note on how things are done: x"])
def test_a_subject_without_a_part_is_wrong(repository: Repository, subject: str) -> None:
    commit = repository.commit(subject)

    (problem,) = wrong("HEAD", ["HEAD~1"])

    assert commit.startswith(problem.split()[0])
    assert problem.endswith(f'does not start with the part that changed, such as "docs: ": {subject}')


def test_a_subject_of_73_characters_is_too_long(repository: Repository) -> None:
    repository.commit(f"docs: {'x' * 67}\n\nThe body may have lines of any length: {'x' * 80}")

    (problem,) = wrong("HEAD", ["HEAD~1"])

    assert "has a subject of 73 characters, of 72 at most" in problem


def test_each_commit_of_a_push_is_checked_and_none_before_it(repository: Repository) -> None:
    before = repository.commit("pushed earlier")
    first = repository.commit("first")
    second = repository.commit("second")

    assert [each.split()[0] for each in wrong(second, [before])] == [
        repository.git("rev-parse", "--short", commit) for commit in (second, first)
    ]


def test_a_new_branch_is_checked_from_where_it_left_main(repository: Repository) -> None:
    repository.git("switch", "--quiet", "--create", "topic")
    repository.commit("topic")

    problems = list(wrong("topic", ["0" * 40, "main"]))

    assert [each.rpartition(" ")[2] for each in problems] == ["topic"]


def test_a_merge_is_not_checked_nor_what_it_brings_from_main(repository: Repository) -> None:
    repository.git("switch", "--quiet", "--create", "topic")
    before = repository.commit("docs: topic")
    repository.git("switch", "--quiet", "main")
    repository.commit("on main")
    repository.git("switch", "--quiet", "topic")
    repository.git("merge", "--quiet", "--no-ff", "--message", "Merge branch 'main'", "main")

    assert list(wrong("topic", [before, "main"])) == []


def test_if_nothing_earlier_is_known_only_the_newest_is_checked(repository: Repository) -> None:
    repository.commit("docs: newest")

    assert list(wrong("HEAD", ["0" * 40, ""])) == []


def test_the_command_names_what_is_wrong_and_fails(repository: Repository) -> None:
    repository.commit("Fix docs")

    checked = ran([sys.executable, ROOT / "tools/commit_subjects.py", "HEAD", "HEAD~1"], cwd=".")

    assert (checked.returncode, checked.stdout) == (1, "")
    assert checked.stderr.endswith(": Fix docs\n")

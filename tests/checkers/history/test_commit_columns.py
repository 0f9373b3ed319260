"""Commits as columns: nothing of them is lost."""

from __future__ import annotations

import random

import pytest

from checkers.history import commit_columns
from checkers.history.commit_columns import Commits
from checkers.history.records import Commit
from tests.support.broken_storages import KINDS
from tests.support.storage_runs import simulate


@pytest.mark.parametrize("kind", KINDS)
def test_commits_come_back_from_their_columns(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(20):
        commits = simulate(rng, kind).commits

        assert tuple(Commits.of(commits)) == commits


def test_commits_of_several_resources_keep_their_order_lines_and_file() -> None:
    commits = tuple(
        Commit(seq=seq, resource=f"r{seq % 2}", token=None, value=value, line=seq, file="f")
        for seq, value in enumerate([1, "1", None, ("a", 1)])
    )

    assert tuple(Commits.of(commits)) == commits
    assert Commits.of(commits)[1:3] == commits[1:3]
    assert Commits.of(commits)[-1] == commits[-1]


def test_commits_are_made_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_columns, "_AT_ONCE", 2)
    commits = tuple(Commit(seq=seq, resource="r0", token=seq, value=seq) for seq in range(5))

    assert tuple(Commits.of(commits)) == commits


def test_columns_of_commits_are_used_as_they_are() -> None:
    commits = Commits.of([])

    assert Commits.of(commits) is commits
    assert tuple(commits) == ()

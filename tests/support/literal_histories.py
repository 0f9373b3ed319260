"""Literal histories: a few lines in a file, in a folder named by the anomaly that they show.

`early-grant/renewed` is `tests/histories/early-grant/renewed.jsonl`, beside it `renewed.commits.jsonl` with
the storage's own order, if it has one. Folders of another kind: `valid` shows no anomaly, and `unknown`
cannot be decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import fencepost
from checkers.history.records import Commit, History
from checkers.vocabulary.verdict import Verdict
from tests.support.repository import HISTORIES

COMMITS = ".commits.jsonl"
NO_ANOMALY = ("valid", "unknown")
LITERAL = {
    f"{path.parent.name}/{path.stem}": path
    for path in sorted(HISTORIES.glob("*/*.jsonl"))
    if not path.name.endswith(COMMITS)
}
BAD = [name for name, path in LITERAL.items() if path.parent.name not in NO_ANOMALY]


def commits_beside(history: Path) -> Path | None:
    """The file with the storage's own order of a history; None if it has none."""
    commits = history.with_suffix(COMMITS)
    return commits if commits.exists() else None


def read(name: str) -> tuple[History, Sequence[Commit] | None]:
    """A literal history, and the storage's own order if there is one."""
    commits = commits_beside(LITERAL[name])
    return fencepost.read(LITERAL[name]), fencepost.read_commits(commits) if commits else None


@cache
def judged(name: str) -> Verdict:
    """The verdict on a literal history."""
    return fencepost.judge(*read(name))

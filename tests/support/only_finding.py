"""The one finding of a literal history."""

from __future__ import annotations

import checkers
from tests.support.repository import HISTORIES


def only_finding(name: str) -> checkers.Finding:
    path = HISTORIES / f"{name}.jsonl"
    commits = path.with_suffix(".commits.jsonl")
    order = checkers.read_commits(commits) if commits.exists() else None
    (finding,) = checkers.judge(checkers.read(path), order).findings
    return finding

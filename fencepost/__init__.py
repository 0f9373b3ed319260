"""Do fencing tokens keep stale writers out? Run a target on real servers, or judge a recorded history.

Run a shipped target or your own target file:

    target = fencepost.load("etcd-postgres", ["workload.duration=12s"])
    verdict = fencepost.run(target, engine="local")

Judge a recorded history, with the storage's own order of accepted writes if there is one:

    history = fencepost.read("history.jsonl")
    verdict = fencepost.judge(history, fencepost.read_commits("commits.jsonl"))

Either way `verdict.validity` is valid, unknown or invalid, and `verdict.findings` are the
violations, each with the operations that prove it. Every moment and length of time is in
nanoseconds. Every exception raised on purpose is a `FencepostError`, whose message names the
value that caused it; a violation is a verdict, never an exception.

Each name is imported on first use, so `import fencepost` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from checkers.history.reader import read, read_commits
    from checkers.text.errors import FencepostError
    from checkers.verdict.judge import judge
    from checkers.vocabulary.verdict import Verdict
    from harness.run.run_to_verdict import run
    from harness.spec import Target, load

__all__ = ["FencepostError", "Target", "Verdict", "judge", "load", "read", "read_commits", "run"]

_HOMES = {
    "FencepostError": "checkers",
    "Target": "harness.spec",
    "Verdict": "checkers",
    "judge": "checkers",
    "load": "harness.spec",
    "read": "checkers",
    "read_commits": "checkers",
    "run": "harness.run.run_to_verdict",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *(name for name in __all__ if name not in globals())]

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

Test your own lock or storage: write a class with the methods of `Lock` or `Storage`, which
raises `Stale`, `NotApplied` or `Unknown`, and name it in a target file.

The names in `__all__` are public and stay. Every other name, and every other package that is
installed with this one, is private and may change at any time. Each name is imported on first
use, so `import fencepost` itself costs nothing.
"""

from __future__ import annotations

from importlib import import_module

_NAMES = {
    "checkers.history.commits": ("read_commits",),
    "checkers.history.operation": ("NO_VALUE", "Operation"),
    "checkers.history.reader": ("parse", "read"),
    "checkers.history.records": ("Commit", "History", "Outcome"),
    "checkers.models.budget": ("Budget",),
    "checkers.models.judge": ("MODELS", "ForeignVerdict", "judge_foreign"),
    "checkers.models.model_verdict": ("ModelVerdict",),
    "checkers.models.mutex": ("judge_mutex",),
    "checkers.models.objects": ("IMPOSSIBLE", "Model"),
    "checkers.models.register": ("judge_register",),
    "checkers.models.search": ("search",),
    "checkers.text.errors": ("FencepostError", "HistoryError", "ModelError"),
    "checkers.verdict.judge": ("judge",),
    "checkers.vocabulary.anomalies": ("ANOMALIES",),
    "checkers.vocabulary.anomaly": ("Anomaly",),
    "checkers.vocabulary.counts": ("COVERAGE",),
    "checkers.vocabulary.verdict": ("Finding", "Validity", "Verdict"),
    "harness.core.errors": (
        "ConfigurationError",
        "EngineUnavailableError",
        "FaultNotInstalledError",
        "InfrastructureError",
        "ResourceExhaustedError",
        "ServerNotReadyError",
    ),
    "harness.core.events": (
        "Event",
        "FaultObserved",
        "Notice",
        "Progress",
        "RunJudged",
        "RunStarted",
        "StageReached",
    ),
    "harness.run.run_to_verdict": ("run",),
    "harness.spec": ("Target", "load"),
    "workloads.client": (
        "Answer",
        "Grant",
        "Lock",
        "NoTokenError",
        "NotApplied",
        "Session",
        "Stale",
        "Storage",
        "Unknown",
    ),
    "workloads.settings": ("LockSettings", "StorageSettings"),
}
"""The module of each public name. `__init__.pyi` has the same for type checkers."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__

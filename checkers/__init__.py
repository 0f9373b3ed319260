"""Was it right? Reads the history of a run and judges it; no servers, no faults.

history = checkers.read(Path("history.jsonl"))
verdict = checkers.judge(history, checkers.read_commits(Path("commits.jsonl")))
verdict.to_document()["verdict"]  # "valid", "unknown" or "invalid"
"""

from checkers.anomalies import ANOMALIES, COVERAGE, Anomaly
from checkers.errors import FencepostError, HistoryError
from checkers.history import parse, read, read_commits
from checkers.judge import judge
from checkers.merge import merge
from checkers.records import Commit, FaultEvent, Header, History, Op, Outcome
from checkers.verdict import CheckerResult, Finding, Validity, Verdict

__all__ = [
    "ANOMALIES",
    "COVERAGE",
    "Anomaly",
    "CheckerResult",
    "Commit",
    "FaultEvent",
    "FencepostError",
    "Finding",
    "Header",
    "History",
    "HistoryError",
    "Op",
    "Outcome",
    "Validity",
    "Verdict",
    "judge",
    "merge",
    "parse",
    "read",
    "read_commits",
]

"""Was it right? Reads the history of a run and judges it; no servers, no faults.

    history = checkers.read(Path("history.jsonl"))
    verdict = checkers.judge(history, checkers.read_commits(Path("commits.jsonl")))
    verdict.to_document()["verdict"]  # "valid", "unknown" or "invalid"

Histories of anything else than fenced storages and leases are judged by a model,
one of `MODELS` or your own:

    result = checkers.search(operations, checkers.MODELS["cas-register"]())
    judged = checkers.judge_foreign(Path("history.edn"), "cas-register")
"""

from checkers.history.merge import merge
from checkers.history.operation import NO_VALUE, Operation
from checkers.history.reader import parse, read, read_commits
from checkers.history.records import Commit, FaultEvent, Header, History, Op, Outcome
from checkers.models.judge import MODELS, judge_foreign
from checkers.models.model_verdict import ModelVerdict
from checkers.models.mutex import judge_mutex
from checkers.models.objects import IMPOSSIBLE, Model
from checkers.models.register import judge_register
from checkers.models.search import search
from checkers.text.errors import FencepostError, HistoryError, ModelError
from checkers.verdict.judge import judge
from checkers.vocabulary.anomalies import ANOMALIES, Anomaly
from checkers.vocabulary.counts import COVERAGE
from checkers.vocabulary.verdict import CheckerResult, Finding, Validity, Verdict

__all__ = [  # noqa: RUF022 - as sorted() has it
    "ANOMALIES",
    "Anomaly",
    "COVERAGE",
    "CheckerResult",
    "Commit",
    "FaultEvent",
    "FencepostError",
    "Finding",
    "Header",
    "History",
    "HistoryError",
    "IMPOSSIBLE",
    "MODELS",
    "Model",
    "ModelError",
    "ModelVerdict",
    "NO_VALUE",
    "Op",
    "Operation",
    "Outcome",
    "Validity",
    "Verdict",
    "judge",
    "judge_foreign",
    "judge_mutex",
    "judge_register",
    "merge",
    "parse",
    "read",
    "read_commits",
    "search",
]

"""The events of a run in progress, for the console and every other consumer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from checkers.history.records import History
from checkers.vocabulary.document import VerdictDocument
from checkers.vocabulary.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run folder exists; the servers start next."""

    target: str
    engine: str  # "docker" or "local"
    folder: Path
    seed: int
    duration: int  # ns; of the workload


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReached:
    """The run entered its next stage."""

    stage: Literal["building", "starting", "running", "interrupted", "judging", "stopping"]
    detail: str  # one line for a reader, such as "etcd ×3, postgres, toxiproxy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of the workload, sent a few times per second."""

    elapsed: int  # ns since the workload's start
    duration: int  # ns
    operations: int
    writes_accepted: int
    writes_refused: int
    faults: tuple[str, ...]  # in force now, such as "pause client:3"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultObserved:
    """A fault was observed in force, or observed healed."""

    kind: str
    target: str
    state: Literal["in force", "healed"]
    evidence: str
    elapsed: int  # ns since the workload's start


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A message for the user that is not an error."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJudged:
    """The verdict is known and written; servers may still be stopping."""

    folder: Path
    verdict: Verdict
    document: VerdictDocument
    history: History
    report: Path
    interrupted: bool = False


Event = RunStarted | StageReached | Progress | FaultObserved | Notice | RunJudged

"""verdict.json, as types: one definition gives the document and its schema."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from msgspec import Struct, field, to_builtins

VerdictWord = Literal["valid", "unknown", "invalid"]


class CauseDocument(Struct, frozen=True, kw_only=True):
    """The finding that another one follows from."""

    anomaly: str
    summary: str
    operations: list[int]


class FindingDocument(Struct, frozen=True, kw_only=True):
    """One finding: a sentence, the lines of history.jsonl that prove it, and why they do.

    `rule`: the name of what was broken, for programs: sentences may be reworded, this never is.
    `accused`: of `operations`, the lines of the one that is wrong. `against`: those of what it contradicts.
    `probable_cause`: those of the operation that probably caused it, where one did.
    `also`: what else is wrong with the same operation. `caused_by`: without which it would not have been.
    """

    anomaly: str
    resource: str
    summary: str
    operations: list[int]
    steps: list[str]
    rule: str = ""
    accused: list[int] = []
    against: list[int] = []
    probable_cause: list[int] = []
    also: list[str] = []
    caused_by: CauseDocument | None = None


class CheckerDocument(Struct, frozen=True, kw_only=True):
    """One checker: its own verdict, the evidence it used, and how long it took."""

    name: str
    verdict: VerdictWord
    evidence: Literal["committed", "observed"]
    seconds: float


class InterruptionDocument(Struct, frozen=True, kw_only=True):
    """A run that was cut short: how many seconds of work it did, and how many were planned."""

    seconds: float
    planned: float


class VerdictDocument(Struct, frozen=True, kw_only=True):
    """verdict.json: fields may be added, never renamed.

    `target`: its name in the history's header; null for a history of another tool.
    `history`: the path of the file that was judged; null where it was none.
    `anomalies` has a count for every name that was looked for, 0 included.
    `findings` are the violations. `counted`: the first of those that make no run invalid, and that the
    target asks about or that are violations elsewhere.
    `interrupted`: null for a run that worked for as long as it was to, and where that is not known.
    """

    version: Literal[1] = field(name="schema", default=1)
    target: str | None = None
    history: str | None = None
    verdict: VerdictWord
    expected: Literal["valid"] | list[str]
    as_expected: bool
    reasons: list[str]
    anomalies: dict[str, int]
    findings: list[FindingDocument]
    counted: list[FindingDocument] = []
    coverage: dict[str, int]
    checkers: list[CheckerDocument]
    notices: list[str] = []
    interrupted: InterruptionDocument | None = None

    @property
    def named(self) -> list[str]:
        """The anomalies that had to be found; none where it had to be valid."""
        return [] if self.expected == "valid" else list(self.expected)

    @property
    def violations(self) -> Counter[str]:
        """How many violations there are of each name, in the order of the findings."""
        return Counter(finding.anomaly for finding in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """As written to verdict.json."""
        document: dict[str, Any] = to_builtins(self)
        return document

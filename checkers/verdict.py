"""Verdicts: how a history was judged, what was found, and what each finding rests on."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from checkers.document import CheckerDocument, FindingDocument, VerdictDocument, VerdictWord

Evidence = Literal["committed", "observed"]
"""Where a checker looked: the storage's own order of writes, or what the clients saw."""


class Validity(enum.IntEnum):
    """How a history was judged. `max` of several is the verdict on them all."""

    VALID = 0
    UNKNOWN = 1  # out of time, or nothing worth judging happened
    INVALID = 2

    @property
    def word(self) -> VerdictWord:
        """The name that documents use."""
        words: tuple[VerdictWord, ...] = ("valid", "unknown", "invalid")
        return words[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One event that should not have happened, told and proved."""

    anomaly: str
    resource: str
    summary: str  # one plain sentence
    operations: tuple[int, ...]  # lines of the history; two to six of them prove it
    steps: tuple[str, ...]  # because-steps that end in the contradiction
    accused: int  # index of the operation that is wrong: one event is one finding


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckerResult:
    """What one checker found by itself, before findings of the same event were joined."""

    name: str
    validity: Validity
    evidence: Evidence
    seconds: float
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of one run."""

    validity: Validity
    expected: tuple[str, ...]  # anomalies that had to be found; empty: none at all
    as_expected: bool
    reasons: tuple[str, ...]  # why it is not valid, or not as expected
    anomalies: Mapping[str, int]  # every name that was looked for
    findings: tuple[Finding, ...]  # the violations; counted anomalies are in `anomalies` alone
    coverage: Mapping[str, int]
    checkers: tuple[CheckerResult, ...]

    def to_document(self) -> dict[str, Any]:
        """The document of verdict.json."""
        document: dict[str, Any] = msgspec.to_builtins(
            VerdictDocument(
                verdict=self.validity.word,
                expected=list(self.expected) or "valid",
                as_expected=self.as_expected,
                reasons=list(self.reasons),
                anomalies=dict(self.anomalies),
                findings=[_finding(finding) for finding in self.findings],
                coverage=dict(self.coverage),
                checkers=[_checker(result) for result in self.checkers],
            )
        )
        return document


def _finding(finding: Finding) -> FindingDocument:
    return FindingDocument(
        anomaly=finding.anomaly,
        resource=finding.resource,
        summary=finding.summary,
        operations=list(finding.operations),
        steps=list(finding.steps),
    )


def _checker(result: CheckerResult) -> CheckerDocument:
    return CheckerDocument(
        name=result.name,
        verdict=result.validity.word,
        evidence=result.evidence,
        seconds=round(result.seconds, 6),
    )

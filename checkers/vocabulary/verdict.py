"""Verdicts: the judgement of a history, its findings, and the proof of each."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from checkers.vocabulary.anomalies import VIOLATIONS
from checkers.vocabulary.document import (
    CauseDocument,
    CheckerDocument,
    EarlierDocument,
    FindingDocument,
    HazardsDocument,
    VerdictDocument,
    VerdictWord,
)
from checkers.vocabulary.reasons import Reason

Evidence = Literal["committed", "observed"]
"""The evidence of a checker: the storage's own order of writes, or what the clients saw."""


class Validity(enum.IntEnum):
    """The judgement of a history. `max` of several is the verdict on them all."""

    VALID = 0
    UNKNOWN = 1  # out of time, or nothing worth judging happened
    INVALID = 2

    @property
    def word(self) -> VerdictWord:
        """The name used in documents."""
        words: tuple[VerdictWord, ...] = ("valid", "unknown", "invalid")
        return words[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofStep:
    """One step of a proof, and its subjects."""

    text: str
    operations: tuple[int, ...] = ()  # lines
    faults: tuple[int, ...] = ()  # lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The explanation of a finding on its own."""

    summary: str  # one plain sentence
    steps: tuple[ProofStep, ...]  # the last one is the contradiction
    story: tuple[str, ...] = ()  # at most three plain sentences, in time order
    operations: tuple[int, ...]  # every line of the operations that prove it
    accused: tuple[int, ...] = ()  # the lines of the operation that is wrong
    against: tuple[int, ...] = ()  # the lines of the operations that it contradicts
    cause: CauseDocument | None = None
    rule: str = ""  # the name of the broken rule, one of several in an anomaly
    roles: tuple[str, ...] = ()  # what the accused is, then each kind of operation that it contradicts
    faults: tuple[str, ...] = ()  # the kinds of the fault that is its cause, and of all faults in the steps
    doubt: str = ""  # why these operations are not known to be the smallest set that proves it


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One event that should not have happened, with its explanation and proof.

    Explaining takes longer than finding, so it happens on first use. Findings of the
    same event are equal, whatever their explanations.
    """

    anomaly: str
    resource: str
    accused: int  # index of the operation that is wrong: one event is one finding
    counted: bool = False  # not a violation, although others of this name are
    because: tuple[int, ...] = field(default=(), compare=False)  # indexes of the operations that show it
    also: tuple[str, ...] = ()  # other names for what is wrong with the accused operation
    implied: tuple[str, ...] = ()  # names in `also` that the same operations show
    caused_by: Finding | None = None  # an earlier one on the same resource, without which this would not be
    tell: Callable[[], Account] = field(repr=False, compare=False)

    @property
    def is_violation(self) -> bool:
        """Does it make the run invalid?"""
        return self.anomaly in VIOLATIONS and not self.counted

    @cached_property
    def account(self) -> Account:
        """The explanation, worked out on first use."""
        return self.tell()

    @property
    def summary(self) -> str:
        """One plain sentence."""
        return self.account.summary

    @property
    def proof(self) -> tuple[ProofStep, ...]:
        """The steps that prove it; the last is the contradiction."""
        if self.caused_by is None:
            return self.account.steps
        text = f"This follows from an earlier {self.caused_by.anomaly}: {self.caused_by.summary}."
        return (ProofStep(text=text, operations=self.caused_by.operations), *self.account.steps)

    @property
    def steps(self) -> tuple[str, ...]:
        """The sentences of the proof."""
        return tuple(each.text for each in self.proof)

    @property
    def story(self) -> tuple[str, ...]:
        """The story, in at most three plain sentences."""
        return self.account.story

    @property
    def operations(self) -> tuple[int, ...]:
        """The lines of the operations that prove it, wrong by themselves, and none unnecessary."""
        return self.account.operations

    def __getstate__(self) -> dict[str, Any]:
        """Pickle it with its explanation worked out, and without its sources."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return own | {"tell": partial(_known, self.account)}


def _known(account: Account) -> Account:
    return account


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckerResult:
    """The findings of one checker, before findings of the same event were joined."""

    name: str
    validity: Validity
    evidence: Evidence
    seconds: float
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The judgement of one run."""

    validity: Validity
    expected: tuple[str, ...]  # anomalies that had to be found; empty: none
    as_expected: bool
    reasons: tuple[Reason, ...]  # why it is not valid, or not as expected
    anomalies: Mapping[str, int]  # every name that was checked
    findings: tuple[Finding, ...]  # the violations
    coverage: Mapping[str, int]
    checkers: tuple[CheckerResult, ...]
    notices: tuple[str, ...] = ()  # how it was judged
    counted: tuple[Finding, ...] = ()  # the first findings worth explaining that make no run invalid
    target: str | None = None  # as the history's header names it
    hazards: HazardsDocument | None = None

    def to_document(self, history: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Return the content of verdict.json; `history` is the file that was judged."""
        return self.documented(history).as_dict()

    def documented(self, history: str | os.PathLike[str] | None = None) -> VerdictDocument:
        """Return the typed content of verdict.json: every finding with its explanation."""
        return VerdictDocument(
            target=self.target,
            history=None if history is None else str(Path(history).absolute()),
            verdict=self.validity.word,
            expected=list(self.expected) or "valid",
            as_expected=self.as_expected,
            **reasons_of(self.reasons),
            anomalies=dict(self.anomalies),
            findings=[_finding(finding) for finding in self.findings],
            counted=[_finding(finding) for finding in self.counted],
            coverage=dict(self.coverage),
            hazards=self.hazards,
            checkers=[
                CheckerDocument(
                    name=result.name,
                    verdict=result.validity.word,
                    evidence=result.evidence,
                    seconds=round(result.seconds, 6),
                )
                for result in self.checkers
            ],
            notices=list(self.notices),
        )


def reasons_of(reasons: Iterable[Reason]) -> dict[str, Any]:
    """Return the fields of a document for some reasons."""
    reasons = tuple(reasons)
    return {
        "reasons": [str(reason) for reason in reasons],
        "reason_kinds": [reason.kind.value for reason in reasons],
        "reason_arguments": [list(reason.arguments) for reason in reasons],
    }


def _finding(finding: Finding) -> FindingDocument:
    cause, earlier = finding.account.cause, finding.caused_by
    return FindingDocument(
        anomaly=finding.anomaly,
        rule=finding.account.rule,
        roles=list(finding.account.roles),
        fault="" if cause is None else cause.fault,
        faults=list(finding.account.faults),
        resource=finding.resource,
        summary=finding.summary,
        operations=_lines(finding.operations),
        story=list(finding.story),
        steps=list(finding.steps),
        step_lines=[_lines(each.operations) for each in finding.proof],
        step_faults=[_lines(each.faults) for each in finding.proof],
        accused=_lines(finding.account.accused),
        against=_lines(finding.account.against),
        cause=cause,
        probable_cause=[] if cause is None else cause.operations,
        names=[finding.anomaly, *finding.also],
        also=list(finding.also),
        caused_by=None
        if earlier is None
        else EarlierDocument(
            anomaly=earlier.anomaly, summary=earlier.summary, operations=_lines(earlier.operations)
        ),
    )


def _lines(places: Iterable[int]) -> list[int]:
    """Return plain integers: events without lines have places of another type."""
    return [int(place) for place in places]

"""The causes of a run's findings in words: which fault, and how certain; the same in every output."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from checkers.explain.fault_phrases import named, part_of_run
from checkers.history.faults import Fault, faults_of
from checkers.history.reader import Header, History, Op
from checkers.text.printable import LONGEST, shorten
from checkers.vocabulary.document import FindingDocument
from checkers.vocabulary.hazards import POINTS
from harness.nemesis.faults import FAULTS
from harness.report.rows import Grants, with_columns
from harness.report.step_references import Mentions
from harness.report.window import Cause, claimed, opening

NS = 1_000_000_000
_WHERE = {str(point): words for point, words in POINTS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The fault behind a finding, and the evidence for it."""

    cause: Cause
    evidence: str
    others: tuple[tuple[Fault, str], ...] = ()  # that the steps name; with their evidence

    @property
    def certain(self) -> bool:
        """Does the history show the whole chain?"""
        return self.cause.certain

    @property
    def title(self) -> str:
        """How certain it is."""
        return "Cause" if self.cause.certain else "Probable cause"

    @property
    def kind(self) -> str:
        """Its kind in words: "pause of a client", "kill of the storage"."""
        kinds = (_kind(fault) for fault in (self.cause.fault, *(fault for fault, _ in self.others)))
        return " with ".join(dict.fromkeys(kinds))

    def in_words(self, started: int, most: int = LONGEST) -> tuple[tuple[str, str], ...]:
        """What happened to which process, when, and on what evidence; for each fault, a title and a sentence.

        Seconds since `started`; at most `most` characters of each evidence.
        """
        shown = [(self.title, self.cause.fault, self.evidence)]
        shown += [("Also in force", fault, evidence) for fault, evidence in self.others]
        titles: dict[str, str] = {}  # by sentence: two faults may look the same
        for title, fault, evidence in shown:
            titles.setdefault(_in_words(fault, evidence, started, most), title)
        return tuple((title, sentence) for sentence, title in titles.items())


def _kind(fault: Fault) -> str:
    whom = "a client" if fault.client is not None else part_of_run(fault.target.partition(":")[0])
    return f"{_called(fault.kind)} of {whom}"


def _in_words(fault: Fault, evidence: str, started: int, most: int) -> str:
    hit = f"{shorten(named(fault.target))} {fault.words.lasting}"
    where = f", {_WHERE[fault.at]}" if fault.at in _WHERE else ""
    when = f"from {_seconds(fault.began, started)} s on{where}; its end was not observed"
    if math.isfinite(fault.healed):
        when = f"{_seconds(fault.began, started)}–{_seconds(fault.healed, started)} s{where}"
    return f"{hit} {when}" + (f"; observed: {shorten(evidence, most)}" if evidence else "")


def _called(kind: str) -> str:
    """The name of a fault; histories of other tools may have kinds of their own."""
    return FAULTS[kind].called if kind in FAULTS else kind


class Openings:
    """Finds the faults behind the findings of one history."""

    def __init__(self, history: History | None) -> None:
        self._faults: tuple[Fault, ...] = ()
        if history is None or not history.faults:
            return
        self._faults = tuple(faults_of(history.faults))
        self._evidence = {(each.kind, each.target, each.time): each.evidence for each in history.faults}
        self._header: Header = history.header
        self._operations = with_columns(history.operations)
        self._mentions = Mentions(self._operations, self._faults)

    @cached_property
    def _grants(self) -> Grants:
        return Grants(self._operations)

    def of(self, finding: FindingDocument) -> Opening | None:
        """Find the fault that opened a finding's window; None if the history supports none.

        If a finding follows from an earlier one, that one is its cause.
        """
        if not self._faults or finding.caused_by:
            return None
        claim = claimed(finding, self._on_lines)
        mentions = self._mentions.of(finding.steps, claim.proof)
        indexes = {index for mention in mentions for index in mention.operations}
        claim = replace(claim, named=tuple(self._operations[index] for index in sorted(indexes)))
        cause = opening(claim, self._grants.behind, self._faults, self._header)
        if cause is None:
            return None
        named_by_steps = (self._faults[place] for mention in mentions for place in mention.bands)
        others = [
            fault
            for fault in dict.fromkeys(named_by_steps)
            if fault != cause.fault and fault.overlaps(cause.fault.began, cause.fault.healed)
        ]
        return Opening(
            cause=cause,
            evidence=self._evidence_of(cause.fault),
            others=tuple((fault, self._evidence_of(fault)) for fault in others),
        )

    def _evidence_of(self, fault: Fault) -> str:
        return self._evidence.get((fault.kind, fault.target, fault.began), "")

    def _on_lines(self, lines: Iterable[int]) -> list[Op]:
        return list(dict.fromkeys(self._mentions.lines.of(lines)))


def _seconds(moment: float, started: int) -> str:
    return f"{(moment - started) / NS:.3f}"

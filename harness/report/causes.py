"""The causes of a run's findings in words: which fault, and how certain; the same in every output."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from checkers.history.columns import Operations
from checkers.history.faults import Fault, faults_of
from checkers.history.records import History, Op
from checkers.text.printable import LONGEST, request, shorten
from checkers.vocabulary.document import FindingDocument
from checkers.vocabulary.fault_kinds import named, part_of_run
from checkers.vocabulary.hazards import POINTS
from harness.core.duration import NS
from harness.nemesis.faults import FAULTS
from harness.report.rows import Lines

NO_CAUSE = ("Cause", "none; no fault or late call in this run explains it")
_WHERE = {str(point): words for point, words in POINTS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What led to a finding, and the evidence for it: a fault, or a late call of another owner."""

    certain: bool  # does the history show the whole chain?
    fault: Fault | None = None
    late: Op | None = None
    evidence: str = ""
    others: tuple[tuple[Fault, str], ...] = ()  # that the steps name; with their evidence

    @property
    def title(self) -> str:
        """How certain it is."""
        return "Cause" if self.certain else "Probable cause"

    @property
    def kind(self) -> str:
        """Its kind in words: "pause of a client", "kill of the storage", "late release"."""
        faults = [fault for fault in (self.fault, *(fault for fault, _ in self.others)) if fault is not None]
        late = [] if self.late is None else [f"late {request(self.late.f)}"]
        return " with ".join(dict.fromkeys([*late, *map(_kind, faults)]))

    def in_words(self, started: int, clients: int | None, most: int = LONGEST) -> tuple[tuple[str, str], ...]:
        """What happened to which process, when, and on what evidence; for each part, a title and a sentence.

        Seconds since `started`; at most `most` characters of each evidence: 0 leaves it out.
        """
        shown = [("Also in force", fault, evidence) for fault, evidence in self.others]
        if self.fault is not None:
            shown.insert(0, (self.title, self.fault, self.evidence))
        titles: dict[str, str] = {}  # by sentence: two faults may look the same
        if self.late is not None:
            titles[_late_in_words(self.late, started, clients)] = self.title
        for title, fault, evidence in shown:
            titles.setdefault(_in_words(fault, evidence, started, most), title)
        return tuple((title, sentence) for sentence, title in titles.items())


def _late_in_words(late: Op, started: int, clients: int | None) -> str:
    whom = f"process {late.process}" if clients is None else f"client {late.process % clients}"
    when = f"at {_seconds(late.called, started)} s (line {late.lines[0]})"
    return f"{whom} sent the {request(late.f)} of another hold {when}, and got its ok"


def _kind(fault: Fault) -> str:
    whom = "a client" if fault.client is not None else part_of_run(fault.target.partition(":")[0])
    called = FAULTS[fault.kind].called if fault.kind in FAULTS else fault.kind  # of another tool
    return f"{called} of {whom}"


def _in_words(fault: Fault, evidence: str, started: int, most: int) -> str:
    hit = f"{shorten(named(fault.target))} {fault.words.lasting}"
    where = f", {_WHERE[fault.at]}" if fault.at in _WHERE else ""
    when = f"from {_seconds(fault.began, started)} s on{where}; its end was not observed"
    if math.isfinite(fault.healed):
        when = f"{_seconds(fault.began, started)}–{_seconds(fault.healed, started)} s{where}"
    return f"{hit} {when}" + (f"; observed: {shorten(evidence, most)}" if evidence and most else "")


def _seconds(moment: float, started: int) -> str:
    return f"{(moment - started) / NS['s']:.3f}"


class Openings:
    """Finds the faults behind the findings of one history."""

    def __init__(self, history: History | None) -> None:
        self._faults: dict[int, Fault] = {}  # by their first lines
        self._evidence: dict[tuple[str, str, int], str] = {}
        self._history = history
        if history is not None:
            self._faults = {fault.lines[0]: fault for fault in faults_of(history.faults)}
            self._evidence = {(each.kind, each.target, each.time): each.evidence for each in history.faults}

    def of(self, finding: FindingDocument) -> Opening | None:
        """The cause of a finding, with the other faults that its steps name; None if none is known.

        If a finding follows from an earlier one, that one is its cause.
        """
        if finding.cause is None or finding.caused_by:
            return None
        cause = next(self._on(finding.cause.faults), None)
        late = next(self._lines.of(finding.cause.operations), None) if finding.cause.operations else None
        if cause is None:
            return None if late is None else Opening(certain=finding.cause.certain, late=late)
        named = dict.fromkeys(self._on(line for lines in finding.step_faults for line in lines))
        others = [fault for fault in named if fault != cause and fault.overlaps(cause.began, cause.healed)]
        return Opening(
            certain=finding.cause.certain,
            fault=cause,
            evidence=self._evidence_of(cause),
            others=tuple((fault, self._evidence_of(fault)) for fault in others),
        )

    def in_words(self, finding: FindingDocument, most: int = LONGEST) -> tuple[tuple[str, str], ...]:
        """The cause, as `Opening.in_words` has it, or that there is none, though there were faults."""
        if self._history and (opening := self.of(finding)):
            return opening.in_words(self._history.started, self._history.header.clients, most)
        is_unexplained = bool(self._faults) and finding.cause is None and finding.caused_by is None
        return (NO_CAUSE,) * is_unexplained

    @cached_property
    def _lines(self) -> Lines:
        return Lines(Operations.of(self._history.operations if self._history else ()))

    def _on(self, lines: Iterable[int]) -> Iterator[Fault]:
        return (self._faults[line] for line in lines if line in self._faults)

    def _evidence_of(self, fault: Fault) -> str:
        return self._evidence.get((fault.kind, fault.target, fault.began), "")

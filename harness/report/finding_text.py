"""One finding as lines of text: its story, its cause, and its proof."""

from __future__ import annotations

from collections.abc import Iterator

from checkers.history.records import History
from checkers.text.printable import LONGEST
from checkers.vocabulary.document import FindingDocument
from checkers.vocabulary.rule_words import described
from harness.report.causes import NO_CAUSE, Openings
from harness.report.lines import LineTone, StyledLine
from harness.report.sentences import capitalized


def story(finding: FindingDocument) -> StyledLine:
    """What happened, in the order of time; where no story is known, what is wrong."""
    return StyledLine(" ".join(finding.story) or f"{_summary(finding)}.", indent=2)


def proof(finding: FindingDocument) -> Iterator[StyledLine]:
    """What is wrong, what its name means, and why it is true, step by step; the story comes before."""
    if finding.story:
        yield StyledLine(_summary(finding), LineTone.BAD, 4)
    if meaning := described(finding.anomaly, finding.rule):
        yield StyledLine(f"{meaning.name}: {meaning.definition}", LineTone.FAINT, 4)
    for number, step in enumerate(finding.steps, start=1):
        yield StyledLine(f"{number}. {step}", indent=4)


def _summary(finding: FindingDocument) -> str:
    return capitalized(finding.summary, finding.resource)


def cause(finding: FindingDocument, openings: Openings, history: History | None) -> Iterator[StyledLine]:
    """The fault or the late call that led to it."""
    yield from _causes(finding, openings, history, evidence=0)[:1]


def causes(finding: FindingDocument, openings: Openings, history: History | None) -> list[StyledLine]:
    """The same with its evidence, and with the other faults that were in force then."""
    return _causes(finding, openings, history, evidence=LONGEST)


def _causes(
    finding: FindingDocument, openings: Openings, history: History | None, *, evidence: int
) -> list[StyledLine]:
    opening = openings.of(finding)
    known = [NO_CAUSE] * openings.is_unexplained(finding)
    if opening and history:
        known = [*opening.in_words(history.started, history.header.clients, evidence)]
    return [StyledLine(f"{title}: {sentence}.", indent=2) for title, sentence in known]

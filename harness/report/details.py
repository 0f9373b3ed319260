"""What a verdict rests on, as lines of text for `--verbose`: all proofs, counts and checkers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from checkers.history.records import History
from checkers.vocabulary.counts import called
from checkers.vocabulary.document import CheckerDocument, VerdictDocument
from checkers.vocabulary.hazards import summary, untriable
from harness.report.causes import Openings
from harness.report.finding_text import causes, proof, story
from harness.report.groups import explained, groups
from harness.report.headline import RunAnswer
from harness.report.lines import LineTone, StyledLine
from harness.report.sentences import count


def details(document: VerdictDocument, history: History | None, said: RunAnswer) -> Iterator[StyledLine]:
    """The first finding of each further cause, and how the run was judged."""
    yield from _findings(document, history, said.leads)
    yield StyledLine("")
    yield StyledLine(said.verdict, indent=2)
    yield StyledLine(counted(document.coverage), LineTone.FAINT, 2)
    seen = document.hazards
    if seen and seen.possible:
        tried = summary(seen.possible, seen.missed, seen.untried, shown=len(seen.missed))
        yield StyledLine(tried, LineTone.FAINT, 2)
    if seen and seen.unreached:
        yield StyledLine(untriable(seen.unreached), LineTone.FAINT, 2)
    yield from (StyledLine(str(windows), LineTone.FAINT, 2) for windows in document.windows)
    yield from _checkers(document.checkers)


def counted(coverage: Mapping[str, int]) -> str:
    """What the run counted, without zero counts."""
    some = [f"{called(name)} {number:,}" for name, number in coverage.items() if number]
    return " · ".join(some) or "coverage: every count is zero"


def _findings(
    document: VerdictDocument, history: History | None, leads: Sequence[str]
) -> Iterator[StyledLine]:
    openings = Openings(history)
    findings = explained(document, leads)
    for number, group in enumerate(groups(document, openings, leads)):
        first = findings[group.members[0]]
        if number:  # the first one is proved above
            yield from (StyledLine(""), story(first), *proof(first))
            yield from causes(first, openings, history)
        if group.number > 1:
            more = count(group.number - 1, "more finding")
            yield StyledLine(f"{more} of {group.anomaly} in the report", LineTone.FAINT, 4)


def _checkers(checkers: Sequence[CheckerDocument]) -> Iterator[StyledLine]:
    widest = max((len(each.name) for each in checkers), default=0)
    for each in checkers:
        row = f"{each.name:<{widest}}  {each.verdict:<7}  {each.evidence:<9}  {each.seconds:.3f} s"
        yield StyledLine(row, LineTone.FAINT, 2)

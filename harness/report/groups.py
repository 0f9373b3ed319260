"""Findings by cause: findings of one kind with one cause are one entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from checkers.vocabulary.anomalies import ANOMALIES
from checkers.vocabulary.document import FindingDocument, VerdictDocument
from harness.report.causes import Openings
from harness.report.sentences import capitalized


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingGroup:
    """Findings of one name that have the same cause."""

    anomaly: str
    title: str  # what happened, and how often
    number: int
    cause: str  # "probable cause: kill of the storage"; empty if no fault explains it
    counted: bool  # it makes no run invalid
    members: tuple[int, ...]  # positions among the explained findings
    resources: tuple[str, ...]


def explained(document: VerdictDocument, leads: Sequence[str] = ()) -> list[FindingDocument]:
    """The findings that a verdict explains: the headline's first, then other violations, then the rest.

    Of these, those whose cause is certain come first, then unexpected ones, then those that ended first.
    """
    only_counted = set(map(id, document.counted))

    def rank(finding: FindingDocument) -> tuple[int, bool, bool, bool, int]:
        lead = leads.index(finding.anomaly) if finding.anomaly in leads else len(leads)
        is_certain = finding.cause is not None and finding.cause.certain
        ended = max(finding.accused or finding.operations, default=0)  # its line: lines are in order of time
        is_expected = finding.anomaly in document.named
        return lead, id(finding) in only_counted, not is_certain, is_expected, ended

    return sorted([*document.findings, *document.counted], key=rank)


def groups(
    document: VerdictDocument, openings: Openings, leads: Sequence[str] = ()
) -> tuple[FindingGroup, ...]:
    """Group the findings of a verdict by name and cause, in the order of `explained`."""
    only_counted = set(map(id, document.counted))
    found: dict[_Alike, list[_Member]] = {}
    for position, finding in enumerate(explained(document, leads)):
        opening = openings.of(finding)
        alike = _Alike(
            anomaly=finding.anomaly,
            counted=id(finding) in only_counted,
            cause="" if opening is None else opening.kind,
            follows=finding.caused_by.anomaly if finding.caused_by else "",
        )
        is_certain = opening is not None and opening.certain
        found.setdefault(alike, []).append(_Member(position, finding.resource, is_certain))
    return tuple(_group(document, alike, members) for alike, members in found.items())


class _Alike(NamedTuple):
    """What the findings of a group share."""

    anomaly: str
    counted: bool
    cause: str  # its kind; empty if none is known
    follows: str  # the anomaly of an earlier finding that it follows from


class _Member(NamedTuple):
    """A finding of a group."""

    position: int
    resource: str
    is_certain: bool  # its cause


def _group(document: VerdictDocument, alike: _Alike, members: Sequence[_Member]) -> FindingGroup:
    """A group with its title; its number includes counted findings that the verdict does not explain."""
    anomaly, counted = alike.anomaly, alike.counted
    number = len(members)
    if counted:
        number = max(number, document.anomalies.get(anomaly, 0) - document.violations[anomaly])
    known = ANOMALIES.get(anomaly)
    return FindingGroup(
        anomaly=anomaly,
        title=capitalized(known.happened(number) if known else anomaly),
        number=number,
        cause=_in_words(alike, members),
        counted=counted,
        members=tuple(member.position for member in members),
        resources=tuple(dict.fromkeys(member.resource for member in members)),
    )


def _in_words(alike: _Alike, members: Sequence[_Member]) -> str:
    """The cause, and for how many of the findings it is only probable."""
    cause = alike.cause
    if alike.follows:
        return f"follows from an earlier {alike.follows}"
    if not cause:
        return ""
    probable = sum(not member.is_certain for member in members)
    if probable == len(members):
        return f"probable cause: {cause}"
    return f"cause: {cause}" + (f", probable in {probable:,}" if probable else "")

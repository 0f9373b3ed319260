"""Findings by cause: findings of one kind with one cause are one entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from checkers.anomalies import ANOMALIES
from checkers.document import FindingDocument, VerdictDocument
from harness.report.causes import Opening, Openings
from harness.report.sentences import capitalized


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Findings of one name that have the same cause."""

    anomaly: str
    title: str  # what happened, and how often
    number: int
    cause: str  # "probable cause: kill of the storage"; empty if no fault explains it
    counted: bool  # it makes no run invalid
    certain: int = 0  # number of members whose cause is certain
    members: tuple[int, ...]  # positions among the explained findings
    resources: tuple[str, ...]


def explained(document: VerdictDocument, leads: Sequence[str] = ()) -> list[FindingDocument]:
    """The findings that a verdict explains: the headline's first, then other violations, then the rest."""

    def rank(finding: FindingDocument) -> int:
        return leads.index(finding.anomaly) if finding.anomaly in leads else len(leads)

    return sorted([*document.findings, *document.counted], key=rank)


def groups(document: VerdictDocument, openings: Openings, leads: Sequence[str] = ()) -> tuple[Group, ...]:
    """Group the findings of a verdict by name and cause, in the order of `explained`."""
    only_counted = set(map(id, document.counted))
    found: dict[tuple[object, ...], Group] = {}
    for position, finding in enumerate(explained(document, leads)):
        counted = id(finding) in only_counted
        name, opening = finding.anomaly, openings.of(finding)
        cause = _cause(finding, opening)
        group = found.get((name, counted, cause)) or Group(
            anomaly=name, title="", number=0, cause=cause, counted=counted, members=(), resources=()
        )
        found[name, counted, cause] = replace(
            group,
            number=group.number + 1,
            certain=group.certain + (opening is not None and opening.certain),
            members=(*group.members, position),
            resources=tuple(dict.fromkeys((*group.resources, finding.resource))),
        )
    return tuple(_titled(group, document) for group in found.values())


def _titled(group: Group, document: VerdictDocument) -> Group:
    """The title; its number includes counted findings that the verdict does not explain."""
    number = group.number
    if group.counted:
        number = max(number, document.anomalies.get(group.anomaly, 0) - document.violations[group.anomaly])
    known = ANOMALIES.get(group.anomaly)
    title = known.happened(number) if known else group.anomaly
    return replace(group, number=number, title=capitalized(title), cause=_in_words(group))


def _cause(finding: FindingDocument, opening: Opening | None) -> str:
    """The cause that all findings of a group share."""
    if finding.caused_by:
        return f"follows from an earlier {finding.caused_by.anomaly}"
    return "" if opening is None else opening.kind


def _in_words(group: Group) -> str:
    """The cause, and for how many of the findings it is only probable."""
    if not group.cause or group.cause.startswith("follows"):
        return group.cause
    if not group.certain:
        return f"probable cause: {group.cause}"
    rest = len(group.members) - group.certain
    return f"cause: {group.cause}" + (f", probable in {rest:,}" if rest else "")

"""The reasons why a run is not valid, or not as expected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from checkers.facts.evidence import Evidence
from checkers.facts.hindrances import hindrance_of, lease_in_another_unit
from checkers.facts.narrowing import count_of_grants, grants_without
from checkers.history.records import Header
from checkers.vocabulary.anomalies import ANOMALIES, DOUBTS
from checkers.vocabulary.counts import none_of
from checkers.vocabulary.document import HazardsDocument
from checkers.vocabulary.hazards import summary
from checkers.vocabulary.reasons import (
    NO_FAULTS,
    NO_GRANT,
    NO_RETURN,
    NO_TOKEN,
    RUN_LONGER,
    Reason,
    ReasonKind,
    unaimed,
)
from checkers.vocabulary.verdict import Finding, Validity


def doubts(
    evidence: Evidence,
    counts: Mapping[str, int],
    hazards: HazardsDocument | None,
    anomalies: Mapping[str, int],
) -> Iterator[Reason]:
    """Yield why a run without a violation is not valid either, apart from crashes."""
    yield from _cut_short(evidence)
    if not len(evidence.history.operations):
        yield Reason(ReasonKind.EMPTY)
        return
    yield from _not_exercised(evidence, counts)
    yield from _missed(hazards, evidence)
    for name in DOUBTS:
        if anomalies[name]:
            yield Reason(ReasonKind.DOUBT, ANOMALIES[name].happened(anomalies[name]), name)


def _cut_short(evidence: Evidence) -> Iterator[Reason]:
    if not evidence.history.is_cut_short:
        return
    log = evidence.log
    missing = 0 if log is None else log.unsent
    more = f", and the storage's own order has {missing} writes of which it knows nothing" if missing else ""
    yield Reason(ReasonKind.CUT_SHORT, more)


def _not_exercised(evidence: Evidence, counts: Mapping[str, int]) -> Iterator[Reason]:
    header = evidence.history.header
    short = {name: least for name, least in header.require.items() if counts.get(name, 0) < least}
    grants = count_of_grants(evidence)
    acquires = () if grants or not short else tuple(evidence.named("acquire"))
    if any(op.error for op in acquires):
        yield NO_GRANT
        return
    if acquires and all(op.learned is None for op in acquires):
        yield NO_RETURN
        return
    if header.hazards and (unit := lease_in_another_unit(evidence)):
        yield Reason(ReasonKind.UNTESTABLE, *unit)
        return
    if short and header.fenced and 0 < grants == grants_without(evidence, "token"):
        yield NO_TOKEN
        return
    for name, least in short.items():
        count = counts.get(name, 0)
        what = f"{name} is {count}, required {least}" if count else none_of(name)
        yield Reason(ReasonKind.NOT_EXERCISED, what, _why(evidence))


def _why(evidence: Evidence) -> str:
    """Say how to fix a run that tested too little, or why it did."""
    if evidence.history.header.no_faults:
        return NO_FAULTS
    return hindrance_of(evidence) or RUN_LONGER


def _missed(hazards: HazardsDocument | None, evidence: Evidence) -> Iterator[Reason]:
    table = evidence.history.header.hazards
    required = table.required if table else 0
    if required and hazards and hazards.unreached and not hazards.possible:
        yield unaimed(hazards.unreached)
    elif required and (hazards is None or (hazards.possible or 0) - len(hazards.missed) < required):
        seen = "no hazard was counted"
        if hazards:
            seen = summary(hazards.possible or 0, hazards.missed, hazards.untried)
        yield Reason(ReasonKind.NOT_EXERCISED, seen, _why(evidence))


def unexpected(
    header: Header, anomalies: Mapping[str, int], violations: Iterable[Finding], validity: Validity
) -> tuple[Reason, ...]:
    """Return why the run is not what its target expects, apart from doubts.

    An anomaly that `may` come comes with an expected violation: a run that has to be valid has none.
    An anomaly that is only counted has still been found.
    """
    allowed = {*header.expect, *header.may} if header.expect else set()
    violations = tuple(violations)
    found = dict.fromkeys(
        name
        for finding in violations
        for name in (finding.anomaly, *finding.also)
        if name not in finding.implied or finding.anomaly not in allowed
    )
    reasons = [Reason(ReasonKind.UNEXPECTED, name) for name in found if name not in allowed]
    if validity is not Validity.UNKNOWN:
        missing = (name for name in header.expect if name not in found and not anomalies.get(name))
        reasons += [Reason(ReasonKind.NOT_FOUND, name) for name in missing]
    return tuple(reasons)

"""From evidence to a verdict: every checker, one finding for each event, what was expected."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from checkers.explain.checker import Checker
from checkers.facts.evidence import Evidence, as_seen, gather, log_of
from checkers.facts.hits import hazards_of
from checkers.facts.narrowing import count_of_grants, grants_without
from checkers.history.gc_pause import collecting, gc_paused
from checkers.history.records import Commit, Header, History
from checkers.rules import (
    commit_order,
    double_beliefs,
    double_grants,
    duplicate_writes,
    early_grants,
    found_lists,
    ghost_writes,
    late_writes,
    lost_updates,
    lost_writes,
    mismatched_commits,
    misreads,
    phantom_accepts,
    registers,
    stale_writes,
    starvation,
    stuck_locks,
    tokens,
    unfenced_writes,
)
from checkers.verdict.coverage import coverage
from checkers.verdict.cross_check import cross_check
from checkers.verdict.deduplicate import deduplicate
from checkers.verdict.findings import doubts_of, explained
from checkers.verdict.notices import notices
from checkers.vocabulary.anomalies import ANOMALIES, DOUBTS, RANK, VIOLATIONS, WORTH_SAYING
from checkers.vocabulary.counts import none_of
from checkers.vocabulary.document import HazardsDocument
from checkers.vocabulary.hazards import summary
from checkers.vocabulary.not_exercised import NO_FAULTS, NO_GRANT, NO_TOKEN, NOT_EXERCISED, RUN_LONGER
from checkers.vocabulary.verdict import CheckerResult, Finding, Validity, Verdict
from checkers.vocabulary.verdict import Evidence as Kind

_MOST_COUNTED = 10  # of each name: to explain one takes much longer than to count it

COMMITTED = (
    stale_writes.CHECKER,
    phantom_accepts.CHECKER,
    ghost_writes.CHECKER,
    duplicate_writes.CHECKER,
    lost_writes.CHECKER,
    unfenced_writes.COMMITTED,
    misreads.CHECKER,
    mismatched_commits.CHECKER,
    commit_order.CHECKER,
    registers.RESOLVED,
    lost_updates.COMMITTED,
)
"""What looks at the commit log."""

AS_SEEN = (registers.OBSERVED, unfenced_writes.OBSERVED)
"""What looks at the storage without its log, also where there is one."""

OTHERS = (
    late_writes.CHECKER,
    *tokens.CHECKERS,
    early_grants.CHECKER,
    double_beliefs.CHECKER,
    double_grants.CHECKER,
    stuck_locks.CHECKER,
    starvation.CHECKER,
    found_lists.CHECKER,
    lost_updates.OBSERVED,
)


def judge(history: History, commits: Iterable[Commit] | None = None, *, same_run: bool = False) -> Verdict:
    """Judge a run by what its clients saw and, where there is one, by the storage's own order.

    `same_run` says that the commits are known to be those of this run, as they are in its own
    folder: then one that fits nothing is evidence.

    Raises:
        HistoryError: no commit fits the history, and they may be those of another run.
    """
    with gc_paused():
        return _judge(gather(history, commits, same_run=same_run))


def _judge(evidence: Evidence) -> Verdict:
    header = evidence.history.header
    examined = examine(evidence)
    ran, findings = examined.checkers, examined.findings
    crashes = list(examined.crashes)
    counts = _counts(evidence, crashes)
    hazards = _hazards(evidence, crashes)
    violations = tuple(each for each in findings if each.is_violation)
    anomalies = _tally(findings, ran)
    doubts = (
        *crashes,
        *_cut_short(evidence),
        *_empty(evidence),
        *_not_exercised(evidence, counts),
        *_missed(hazards, header),
        *(f"{ANOMALIES[name].happened(anomalies[name])} ({name})" for name in DOUBTS if anomalies[name]),
    )
    validity = Validity.INVALID if violations else Validity.UNKNOWN if doubts else Validity.VALID
    unexpected = (*_unexpected(header, anomalies, violations, validity), *examined.disagreements)
    return Verdict(
        validity=validity,
        expected=header.expect,
        as_expected=validity is not Validity.UNKNOWN and not crashes and not unexpected,
        reasons=(*doubts, *unexpected, *doubts_of(collecting(violations))),
        anomalies=anomalies,
        findings=violations,
        counted=tuple(_worth_explaining(findings, header)),
        coverage=counts,
        hazards=hazards,
        checkers=_by_anomaly(ran, examined.results),
        notices=tuple(notices(evidence)),
        target=header.target,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What all checkers found; findings are explained on demand."""

    checkers: tuple[Checker, ...]  # those that ran
    results: tuple[CheckerResult, ...]  # of each of them
    findings: tuple[Finding, ...]  # one for each event
    disagreements: tuple[str, ...]  # where clients and log contradict each other
    crashes: tuple[str, ...]


def examine(evidence: Evidence) -> Examined:
    """Run every checker on some evidence."""
    ran = (*AS_SEEN, *OTHERS) if evidence.log is None else (*COMMITTED, registers.OBSERVED, *OTHERS)
    crashes: list[str] = []
    results = tuple(_run(each, evidence, crashes) for each in ran)
    findings, disagreements = _joined(evidence, results)
    return Examined(
        checkers=ran,
        results=results,
        findings=findings,
        disagreements=disagreements,
        crashes=tuple(crashes),
    )


def _run(checker: Checker, evidence: Evidence, crashes: list[str]) -> CheckerResult:
    began = time.perf_counter()
    validity = Validity.VALID
    findings: tuple[Finding, ...] = ()
    try:
        looked_at = as_seen(evidence) if checker in AS_SEEN else evidence
        findings = tuple(explained(looked_at, checker))
    except Exception as error:  # noqa: BLE001 - a broken checker decides nothing
        validity = Validity.UNKNOWN
        crashes.append(f"the checker {checker.name} crashed: {type(error).__name__}: {error}")
    if any(finding.is_violation for finding in findings):
        validity = Validity.INVALID
    return CheckerResult(
        name=checker.name,
        validity=validity,
        evidence=checker.evidence,
        seconds=time.perf_counter() - began,
        findings=findings,
    )


def _counts(evidence: Evidence, crashes: list[str]) -> dict[str, int]:
    try:
        return coverage(evidence)
    except Exception as error:  # noqa: BLE001 - as a checker
        crashes.append(f"the coverage could not be counted: {type(error).__name__}: {error}")
        return {}


def _hazards(evidence: Evidence, crashes: list[str]) -> HazardsDocument | None:
    try:
        return hazards_of(evidence)
    except Exception as error:  # noqa: BLE001 - as a checker
        crashes.append(f"the hazards could not be counted: {type(error).__name__}: {error}")
        return None


def _joined(
    evidence: Evidence, results: Sequence[CheckerResult]
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """One finding for each event, and where clients and log contradict each other."""
    if evidence.log is None:
        return deduplicate(results), ()
    seen = next(result for result in results if _is_observed_register(result))
    committed = [each for result in results if result.evidence == "committed" for each in result.findings]
    agreement = cross_check(evidence, committed, seen.findings)
    kept = replace(seen, findings=agreement.kept)
    return deduplicate([kept if result is seen else result for result in results]), agreement.disagreements


def _is_observed_register(result: CheckerResult) -> bool:
    return (result.name, result.evidence) == (registers.OBSERVED.name, registers.OBSERVED.evidence)


def _by_anomaly(ran: Sequence[Checker], results: Sequence[CheckerResult]) -> tuple[CheckerResult, ...]:
    """One result for each anomaly and evidence; a checker's time is shared by the anomalies it decides."""
    found: dict[tuple[str, Kind], CheckerResult] = {}
    for checker, result in zip(ran, results, strict=True):
        for name in checker.decides:
            key = (name, checker.evidence)
            own = _share(name, result, len(checker.decides))
            found[key] = _both(found[key], own) if key in found else own
    return tuple(found.values())


def _share(name: str, result: CheckerResult, shares: int) -> CheckerResult:
    findings = tuple(finding for finding in result.findings if finding.anomaly == name)
    validity = Validity.VALID if result.validity is Validity.INVALID else result.validity
    return CheckerResult(
        name=name,
        validity=Validity.INVALID if any(finding.is_violation for finding in findings) else validity,
        evidence=result.evidence,
        seconds=result.seconds / shares,
        findings=findings,
    )


def _both(one: CheckerResult, other: CheckerResult) -> CheckerResult:
    return CheckerResult(
        name=one.name,
        validity=max(one.validity, other.validity),
        evidence=one.evidence,
        seconds=one.seconds + other.seconds,
        findings=(*one.findings, *other.findings),
    )


def _tally(findings: Iterable[Finding], checkers: Iterable[Checker]) -> dict[str, int]:
    names = {name for checker in checkers for name in checker.decides}
    tally = {name: 0 for name in RANK if name in names}
    for finding in findings:
        tally[finding.anomaly] += 1
    return tally


def _worth_explaining(findings: Iterable[Finding], header: Header) -> Iterator[Finding]:
    """The first few of each name that is only counted, where the name or the target asks for it."""
    left = dict.fromkeys({*VIOLATIONS, *DOUBTS, *WORTH_SAYING, *header.expect, *header.may}, _MOST_COUNTED)
    for finding in findings:
        if not finding.is_violation and left.get(finding.anomaly, 0):
            left[finding.anomaly] -= 1
            yield finding


def _cut_short(evidence: Evidence) -> Iterator[str]:
    if not evidence.history.is_cut_short:
        return
    log = log_of(evidence)
    missing = 0 if log is None else log.unsent
    more = f", and the storage's own order has {missing} writes of which it knows nothing" if missing else ""
    yield f"the history ends in the middle of a line{more}: what else was done is not known"


def _empty(evidence: Evidence) -> Iterator[str]:
    if not len(evidence.history.operations):
        yield "the history has no operation: there is nothing to judge"


def _not_exercised(evidence: Evidence, counts: Mapping[str, int]) -> Iterator[str]:
    header = evidence.history.header
    short = {name: least for name, least in header.require.items() if counts.get(name, 0) < least}
    grants = count_of_grants(evidence)
    if short and not grants and any(op.error for op in evidence.named("acquire")):
        yield NO_GRANT.reason
        return
    if short and header.fenced and 0 < grants == grants_without(evidence, "token"):
        yield NO_TOKEN.reason
        return
    for name, least in short.items():
        count = counts.get(name, 0)
        what = f"{name} is {count}, required {least}" if count else none_of(name)
        yield f"{NOT_EXERCISED}{what}: {_why(header)}"


def _why(header: Header) -> str:
    """What to do about a run that tested too little, or why it did."""
    return NO_FAULTS if header.no_faults else RUN_LONGER


def _missed(hazards: HazardsDocument | None, header: Header) -> Iterator[str]:
    required = header.hazards.required if header.hazards else 0
    if required and (hazards is None or (hazards.possible or 0) - len(hazards.missed) < required):
        seen = (
            summary(hazards.possible or 0, hazards.missed, hazards.untried)
            if hazards
            else "no hazard was counted"
        )
        yield f"{NOT_EXERCISED}{seen}: {_why(header)}"


def _unexpected(
    header: Header, anomalies: Mapping[str, int], violations: Iterable[Finding], validity: Validity
) -> tuple[str, ...]:
    """Why the run is not what its target expects, apart from doubts.

    What `may` come comes with an expected violation: a run that has to be valid has none.
    What is only counted has been found all the same.
    """
    allowed = {*header.expect, *header.may} if header.expect else set()
    violations = tuple(violations)
    found = dict.fromkeys(name for finding in violations for name in (finding.anomaly, *finding.also))
    reasons = [f"found {name}, which was not expected" for name in found if name not in allowed]
    if validity is not Validity.UNKNOWN:
        reasons += [
            f"expected {name} was not found"
            for name in header.expect
            if name not in found and not anomalies.get(name)
        ]
    return tuple(reasons)

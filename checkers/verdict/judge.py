"""Judge evidence: run every checker, keep one finding for each event, compare with the expectation."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from checkers.explain.conflict import Checker
from checkers.facts.evidence import Evidence, as_seen, gather, in_columns
from checkers.facts.executions import has_jobs
from checkers.facts.hits import hazards_of
from checkers.facts.holds import holds_of
from checkers.history.gc_pause import collecting, gc_paused
from checkers.history.records import WRITES, Commit, Header, History, Op
from checkers.rules import (
    double_beliefs,
    double_grants,
    double_runs,
    duplicate_writes,
    early_grants,
    ghost_writes,
    late_writes,
    lost_runs,
    lost_updates,
    lost_writes,
    phantom_accepts,
    registers,
    stale_writes,
    starvation,
    stuck_locks,
    tokens,
    unfenced_writes,
)
from checkers.rules.non_linearizable import commit_order, found_lists, mismatched_commits, misreads
from checkers.verdict.coverage import coverage
from checkers.verdict.cross_check import cross_check
from checkers.verdict.deduplicate import deduplicate
from checkers.verdict.findings import doubts_of, explained
from checkers.verdict.notices import notices
from checkers.verdict.reasons import doubts, unexpected
from checkers.vocabulary.anomalies import ANOMALIES, DOUBTS, VIOLATIONS, WORTH_SAYING
from checkers.vocabulary.reasons import Reason, ReasonKind
from checkers.vocabulary.verdict import CheckerResult, Finding, Validity, Verdict
from checkers.vocabulary.verdict import Evidence as Kind

T = TypeVar("T")

_MOST_COUNTED = 10  # of each name: explaining one takes much longer than counting it

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
"""The checkers of the commit log."""

AS_SEEN = (registers.OBSERVED, unfenced_writes.OBSERVED)
"""The checkers of the storage without its log, even if it has one."""

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

JOBS = (double_runs.CHECKER, lost_runs.CHECKER)
"""The checkers of queues, for histories with jobs."""


def judge(history: History, commits: Iterable[Commit] | None = None, *, same_run: bool = False) -> Verdict:
    """Judge a run by what its clients saw and, where there is one, by the storage's own order.

    `same_run`: the commits are known to belong to this run, as in its own folder; then a commit that
    fits nothing is evidence.

    Raises:
        HistoryError: no commit fits the history, and they may belong to another run.
    """
    with gc_paused():
        return _judge(gather(history, commits, same_run=same_run))


def _judge(evidence: Evidence) -> Verdict:
    header = evidence.history.header
    ran, results, findings, disagreements, crashes = examine(evidence)
    counts = _unless_crashed(coverage, evidence, "the coverage", crashes) or {}
    hazards = _unless_crashed(hazards_of, evidence, "the hazards", crashes)
    violations = tuple(each for each in findings if each.is_violation)
    anomalies = _tally(findings, ran)
    in_doubt = (*crashes, *doubts(evidence, counts, hazards, anomalies))
    validity = Validity.INVALID if violations else Validity.UNKNOWN if in_doubt else Validity.VALID
    surprises = (*unexpected(header, anomalies, violations, validity), *disagreements)
    return Verdict(
        validity=validity,
        expected=header.expect,
        as_expected=validity is not Validity.UNKNOWN and not crashes and not surprises,
        reasons=(*surprises, *in_doubt, *doubts_of(collecting(violations))),  # findings come first
        anomalies=anomalies,
        findings=violations,
        counted=tuple(_worth_explaining(findings, header)),
        coverage=counts,
        hazards=hazards,
        checkers=_by_anomaly(ran, results),
        notices=tuple(notices(evidence)),
        target=header.target,
    )


class Examined(NamedTuple):
    """The results of all checkers; findings are explained on demand."""

    checkers: tuple[Checker, ...]  # that ran
    results: tuple[CheckerResult, ...]  # one for each checker
    findings: tuple[Finding, ...]  # one for each event
    disagreements: tuple[Reason, ...]  # where clients and log contradict each other
    crashes: list[Reason]


def examine(evidence: Evidence) -> Examined:
    """Run every checker on some evidence."""
    ran = (*AS_SEEN, *OTHERS) if evidence.log is None else (*COMMITTED, registers.OBSERVED, *OTHERS)
    if has_jobs(evidence):
        ran = (*ran, *JOBS)
    crashes: list[Reason] = []
    results = tuple(_run(each, evidence, crashes) for each in ran)
    return Examined(ran, results, *_joined(evidence, results), crashes)


def _run(checker: Checker, evidence: Evidence, crashes: list[Reason]) -> CheckerResult:
    began = time.perf_counter()
    validity = Validity.VALID
    findings: tuple[Finding, ...] = ()
    try:
        looked_at = as_seen(evidence) if checker in AS_SEEN else evidence
        findings = tuple(explained(looked_at, checker))
    except Exception as error:  # noqa: BLE001 - a broken checker decides nothing
        validity = Validity.UNKNOWN
        crashes.append(Reason(ReasonKind.CRASHED, checker.name, f"{type(error).__name__}: {error}"))
    if any(finding.is_violation for finding in findings):
        validity = Validity.INVALID
    return CheckerResult(
        name=checker.name,
        validity=validity,
        evidence=checker.evidence,
        seconds=time.perf_counter() - began,
        findings=findings,
    )


def _unless_crashed(
    count: Callable[[Evidence], T], evidence: Evidence, what: str, crashes: list[Reason]
) -> T | None:
    try:
        return count(evidence)
    except Exception as error:  # noqa: BLE001 - as a checker
        crashes.append(Reason(ReasonKind.NOT_COUNTED, what, f"{type(error).__name__}: {error}"))
        return None


def _joined(
    evidence: Evidence, results: Sequence[CheckerResult]
) -> tuple[tuple[Finding, ...], tuple[Reason, ...]]:
    """Return one finding for each event, and the contradictions between clients and log."""
    if evidence.log is None:
        return _after_the_queue(evidence, _after_the_lock(evidence, deduplicate(results))), ()
    register = registers.OBSERVED.name, registers.OBSERVED.evidence
    seen = next(result for result in results if (result.name, result.evidence) == register)
    committed = [each for result in results if result.evidence == "committed" for each in result.findings]
    findings, contradictions = cross_check(evidence, committed, seen.findings)
    kept = replace(seen, findings=findings)
    joined = deduplicate([kept if result is seen else result for result in results])
    return _after_the_queue(evidence, _after_the_lock(evidence, joined)), contradictions


def _after_the_lock(evidence: Evidence, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Name the wrong token of a grant as the cause of what that token let through the fence."""
    wrong: dict[int, Finding] = {}
    for each in findings:
        if each.anomaly in {"duplicate-token", "token-regression"}:
            others = each.because if each.anomaly == "duplicate-token" else ()
            for grant in (each.accused, *others):
                wrong.setdefault(grant, each)
    if not wrong:
        return findings
    operations, holds = in_columns(evidence), holds_of(evidence)

    def caused(finding: Finding) -> Finding:
        if finding.anomaly not in {"stale-write", "lost-update"} or finding.caused_by or finding.accused < 0:
            return finding
        grant = holds.grant_behind(operations[finding.accused])
        cause = None if grant is None else wrong.get(grant.index)
        if grant is None or cause is None:
            return finding
        against = (operations[index] for index in finding.because if index >= 0)
        others = (holds.grant_behind(op) for op in against if op.f in {*WRITES, "fence"})
        let_through = any(_misleads(cause.anomaly, grant, other) for other in others if other is not None)
        return replace(finding, caused_by=cause) if let_through else finding

    return tuple(map(caused, findings))


def _after_the_queue(evidence: Evidence, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Name the second run of a job as the cause of a stale result that was written during it or later."""
    operations = in_columns(evidence)
    again = {operations[each.accused].job: each for each in findings[::-1] if each.anomaly == "double-run"}

    def caused(finding: Finding) -> Finding:
        cause = again.get(finding.resource)
        is_stale = finding.anomaly in {"stale-write", "lost-update"} and finding.accused >= 0
        if cause is None or not is_stale or finding.caused_by:
            return finding
        is_later = operations[cause.accused].called <= operations[finding.accused].over
        return replace(finding, caused_by=cause) if is_later else finding

    return tuple(map(caused, findings)) if again else findings


def _misleads(anomaly: str, grant: Op, other: Op) -> bool:
    """Does its token keep a storage from telling this grant's writes from another's?"""
    if other.index == grant.index:
        return False
    if anomaly == "duplicate-token":
        return other.token == grant.token
    return other.over < grant.sent and (other.token or 0) >= (grant.token or 0)


def _by_anomaly(ran: Sequence[Checker], results: Sequence[CheckerResult]) -> tuple[CheckerResult, ...]:
    """Return one result for each anomaly and evidence; the anomalies of a checker share its time."""
    found: dict[tuple[str, Kind], list[tuple[CheckerResult, float]]] = defaultdict(list)
    for checker, result in zip(ran, results, strict=True):
        for name in checker.decides:
            found[name, checker.evidence].append((result, result.seconds / len(checker.decides)))
    return tuple(_joint(name, evidence, own) for (name, evidence), own in found.items())


def _joint(name: str, evidence: Kind, results: Sequence[tuple[CheckerResult, float]]) -> CheckerResult:
    """Return the result for one anomaly of some checkers, each with this anomaly's share of its time."""
    own = tuple(each for result, _ in results for each in result.findings if each.anomaly == name)
    is_unknown = any(result.validity is Validity.UNKNOWN for result, _ in results)
    validity = Validity.UNKNOWN if is_unknown else Validity.VALID
    return CheckerResult(
        name=name,
        validity=Validity.INVALID if any(each.is_violation for each in own) else validity,
        evidence=evidence,
        seconds=sum(seconds for _, seconds in results),
        findings=own,
    )


def _tally(findings: Iterable[Finding], checkers: Iterable[Checker]) -> dict[str, int]:
    names = {name for checker in checkers for name in checker.decides}
    tally = {name: 0 for name in ANOMALIES if name in names}
    for finding in findings:
        for name in (finding.anomaly, *finding.also):
            tally[name] += 1
    return tally


def _worth_explaining(findings: Iterable[Finding], header: Header) -> Iterator[Finding]:
    """Yield the first few of each name that is only counted, where the name or the target asks for it."""
    left = dict.fromkeys({*VIOLATIONS, *DOUBTS, *WORTH_SAYING, *header.expect, *header.may}, _MOST_COUNTED)
    for finding in findings:
        if not finding.is_violation and left.get(finding.anomaly, 0):
            left[finding.anomaly] -= 1
            yield finding

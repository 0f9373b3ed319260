"""Deduplication: one finding for each event, from what each checker found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from checkers.rules.non_linearizable.mismatched_commits import LOGGED_OTHERWISE
from checkers.vocabulary.anomalies import RANK
from checkers.vocabulary.verdict import Account, CheckerResult, Finding, ProofStep


def deduplicate(results: Iterable[CheckerResult]) -> tuple[Finding, ...]:
    """Return one finding for each accused operation, under the name at its root, by name and time.

    It keeps all names that fit as `also`: an expected name must not hide an unexpected one. A finding of
    the clients' view alone is never called non-linearizable where a narrower name fits. An element
    lost from a list because of another finding names that as its cause.
    """
    of_each: dict[tuple[int, bool], list[_Candidate]] = defaultdict(list)
    for result in results:
        for finding in result.findings:
            candidate = _Candidate(finding, is_committed=result.evidence == "committed")
            of_each[finding.accused, finding.is_violation].append(candidate)
    first = (_first(sorted(same, key=lambda each: _rank(each.finding))) for same in of_each.values())
    joined = sorted(first, key=lambda finding: (_rank(finding), finding.accused))
    causes: dict[int, tuple[int, Finding]] = {}  # the first of each accused operation, and its place
    for place, finding in enumerate(joined):
        if finding.is_violation and _rank(finding) < RANK["lost-update"]:
            causes.setdefault(finding.accused, (place, finding))
    return tuple(_with_cause(finding, causes) for finding in joined)


class _Candidate(NamedTuple):
    """A finding, and whether the storage's own order shows it."""

    finding: Finding
    is_committed: bool


def _first(same: Sequence[_Candidate]) -> Finding:
    """Return the first finding of an event, with its other names.

    The finding implies the names that the same operations show, except names that the log shows and a
    stuck lock.
    """
    first = same[0].finding
    others = (each for each in same[1:] if each.finding.anomaly != first.anomaly)
    named = [each for each in others if each.is_committed or each.finding.anomaly != "non-linearizable"]
    also = tuple(dict.fromkeys(each.finding.anomaly for each in named))
    apart = {each.finding.anomaly for each in named if _is_apart(each, first)}
    implied = tuple(name for name in also if name not in apart)
    late = next((each.finding for each in named if each.finding.anomaly == "stale-write"), None)
    tell = first.tell if late is None else partial(_with_lateness, first.tell, late.tell)
    logged = next((each.finding for each in named if each.finding.anomaly == "non-linearizable"), None)
    tell = tell if logged is None else partial(_with_what_was_sent, tell, logged.tell)
    return replace(first, also=also, implied=implied, tell=tell)


def _with_what_was_sent(tell: Callable[[], Account], tell_logged: Callable[[], Account]) -> Account:
    """Return the account of a write; if it was not stored as it was sent, say that first."""
    own, logged = tell(), tell_logged()
    if logged.rule != LOGGED_OTHERWISE.rule:
        return own
    return replace(
        own,
        story=(*logged.story, *own.story[-1:]),
        steps=(*logged.steps, *own.steps),
        operations=tuple(sorted({*own.operations, *logged.operations})),
    )


def _with_lateness(tell: Callable[[], Account], tell_late: Callable[[], Account]) -> Account:
    """Return the account of a stale write that was late: what delayed it, who came between, what is wrong."""
    own, late = tell(), tell_late()
    if own.cause is not None or not own.story or not late.story:
        return own
    return replace(
        own,
        story=(*late.story[:-1][:2], own.story[-1]),
        steps=(*own.steps, ProofStep(text="It also came too late, as these steps show."), *late.steps),
        operations=tuple(sorted({*own.operations, *late.operations})),
        cause=late.cause,
        faults=own.faults or late.faults,
    )


def _is_apart(candidate: _Candidate, first: Finding) -> bool:
    finding = candidate.finding
    is_shown_apart = set(finding.because).isdisjoint(first.because)
    return candidate.is_committed or is_shown_apart or finding.anomaly == "stuck-lock"


def _with_cause(finding: Finding, causes: Mapping[int, tuple[int, Finding]]) -> Finding:
    if finding.anomaly != "lost-update" or not finding.is_violation:
        return finding
    named = (causes[op] for op in finding.because if op in causes)
    _, cause = min(named, key=itemgetter(0), default=(0, None))
    return finding if cause is None else replace(finding, caused_by=cause)


def _rank(finding: Finding) -> int:
    return RANK[finding.anomaly]

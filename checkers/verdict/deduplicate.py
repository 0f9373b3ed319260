"""From what each checker found to one finding for each event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from checkers.vocabulary.anomalies import RANK
from checkers.vocabulary.verdict import CheckerResult, Finding


def deduplicate(results: Iterable[CheckerResult]) -> tuple[Finding, ...]:
    """One finding for each accused operation, under the first name that fits, by name and time.

    If something else is wrong with the same operation, which other operations show,
    the finding says that `also`: an expected name must not hide one that is not. What
    was lost from a list because of another finding names that as its cause.
    """
    of_each: dict[tuple[int, bool], list[_Candidate]] = defaultdict(list)
    for result in results:
        for finding in result.findings:
            candidate = _Candidate(finding, is_committed=result.evidence == "committed")
            of_each[finding.accused, finding.is_violation].append(candidate)
    first = (_first(sorted(same, key=lambda each: _rank(each.finding))) for same in of_each.values())
    joined = sorted(first, key=lambda finding: (_rank(finding), finding.accused))
    causes: dict[int, tuple[int, Finding]] = {}  # of each accused operation the first, and its place
    for place, finding in enumerate(joined):
        if finding.is_violation and _rank(finding) < RANK["lost-update"]:
            causes.setdefault(finding.accused, (place, finding))
    return tuple(_with_cause(finding, causes) for finding in joined)


class _Candidate(NamedTuple):
    """A finding, and whether the storage's own order shows it."""

    finding: Finding
    is_committed: bool


def _first(same: Sequence[_Candidate]) -> Finding:
    first = same[0].finding
    also = dict.fromkeys(each.finding.anomaly for each in same[1:] if _is_of_another_event(each, first))
    return replace(first, also=tuple(also)) if also else first


def _is_of_another_event(candidate: _Candidate, first: Finding) -> bool:
    """Is it not the same event under a wider name?

    Each name that the log shows is an event of its own, and so is a wait for a lock that was stuck.
    What else clients saw of one event may fit several names, above all the widest.
    """
    finding = candidate.finding
    if candidate.is_committed or finding.anomaly in {first.anomaly, "stuck-lock"}:
        return finding.anomaly != first.anomaly
    is_apart = set(finding.because).isdisjoint(first.because)
    return is_apart and finding.anomaly != "non-linearizable"


def _with_cause(finding: Finding, causes: Mapping[int, tuple[int, Finding]]) -> Finding:
    if finding.anomaly != "lost-update" or not finding.is_violation:
        return finding
    named = (causes[op] for op in finding.because if op in causes)
    _, cause = min(named, key=itemgetter(0), default=(0, None))
    return finding if cause is None else replace(finding, caused_by=cause)


def _rank(finding: Finding) -> int:
    return RANK[finding.anomaly]

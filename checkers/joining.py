"""From what each checker found to one finding for each event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from checkers.anomalies import RANK
from checkers.verdict import CheckerResult, Finding


def join(results: Iterable[CheckerResult]) -> tuple[Finding, ...]:
    """One finding for each accused operation, under the first name that fits, by name and time.

    If something else is wrong with the same operation, which other operations show,
    the finding says that `also`: an expected name must not hide one that is not. What
    was lost from a list because of another finding names that as its cause.
    """
    of_each: dict[tuple[int, bool], list[Finding]] = defaultdict(list)
    for result in results:
        for finding in result.findings:
            of_each[finding.accused, finding.is_violation].append(finding)
    first = (_first(sorted(same, key=_rank)) for same in of_each.values())
    joined = sorted(first, key=lambda finding: (_rank(finding), finding.accused))
    return tuple(_with_cause(finding, joined) for finding in joined)


def _first(same: Sequence[Finding]) -> Finding:
    first = same[0]
    also = dict.fromkeys(finding.anomaly for finding in _of_other_events(same))
    return replace(first, also=tuple(also)) if also else first


def _of_other_events(same: Sequence[Finding]) -> Iterator[Finding]:
    """Those that nothing tells already; the widest name only says what a narrower one does."""
    first = same[0]
    for finding in same[1:]:
        shared = set(finding.because) & set(first.because)
        if finding.anomaly not in {first.anomaly, "non-linearizable"} and not shared:
            yield finding


def _with_cause(finding: Finding, joined: Sequence[Finding]) -> Finding:
    if finding.anomaly != "lost-update" or not finding.is_violation:
        return finding
    earlier = (each for each in joined if each.is_violation and _rank(each) < _rank(finding))
    cause = next((each for each in earlier if each.accused in finding.because), None)
    return finding if cause is None else replace(finding, caused_by=cause)


def _rank(finding: Finding) -> int:
    return RANK[finding.anomaly]

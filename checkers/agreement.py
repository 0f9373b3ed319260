"""What the clients saw, held against the storage's own order: the same events, or a disagreement?

The log tells what took effect and in which order, so an event that it shows is told
as the log has it. What the clients saw of it says the same with less precision: it
accuses the same operation, or an operation that is only wrong because of one that
the log accuses, such as a read of a value that a stale write put there.

Where the log has a write that no client sent, the clients cannot see why a write was
refused or what was read; the log can. Otherwise two kinds of findings remain that it
does not have:

- What follows from a lost write. The log does not have what was lost, so it cannot
  show that a later write was stale, or that the mark went back.
- A *disagreement*: none of the operations is wrong by the log, and the clients saw
  that they are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from checkers.anomalies import RANK
from checkers.evidence import Evidence
from checkers.printable import shorten
from checkers.telling.whole import Whole
from checkers.verdict import Finding

_AFTER_A_LOSS = ("stale-write", "high-water-regression")
_BY_SOMEBODY_ELSE = ("false-rejection", "non-linearizable")
_SAYS_NOTHING_OF_OTHERS = {"duplicate-write", "lost-update"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The findings of the clients' view that are to be told beside those of the log."""

    told: tuple[Finding, ...]
    disagreements: tuple[str, ...]  # one plain sentence each


def agree(evidence: Evidence, committed: Iterable[Finding], observed: Iterable[Finding]) -> Agreement:
    """Sort out what the clients saw, given what the log shows.

    Args:
        evidence: with the commit log.
        committed: what the log shows.
        observed: what the clients saw.
    """
    accused: dict[int, dict[str, Finding]] = defaultdict(dict)
    for finding in committed:
        accused[finding.accused][finding.anomaly] = finding
    strayed = () if evidence.log is None else {each.commit.resource for each in evidence.log.strays}
    whole = Whole(evidence)
    told: list[Finding] = []
    disagreements: list[str] = []
    for finding in observed:
        if finding.resource in strayed and finding.anomaly in _BY_SOMEBODY_ELSE:
            continue  # the log's rejections and reads are judged with those writes
        own = accused.get(finding.accused, {})
        others = _others(evidence, whole, finding, accused)
        if all(RANK[finding.anomaly] < RANK[name] for name in own) and not others.keys() - {"lost-write"}:
            cause = others.get("lost-write")
            if cause is None or finding.anomaly in _AFTER_A_LOSS:
                told.append(replace(finding, caused_by=finding.caused_by or cause))
            if cause is None:
                disagreements.append(_disagreement(finding, own))
    return Agreement(told=tuple(told), disagreements=tuple(disagreements))


def _others(
    evidence: Evidence, whole: Whole, finding: Finding, accused: Mapping[int, Mapping[str, Finding]]
) -> dict[str, Finding]:
    """What the log says of the operations that show a finding, and of the writes of what they read."""
    operations = [evidence.history.operations[index] for index in (finding.accused, *finding.because)]
    writers = [whole.writer(op) for op in operations if op.f == "read"]
    involved = {op.index for op in (*operations, *writers) if op is not None} - {finding.accused}
    return {
        name: each
        for index in sorted(involved)
        for name, each in accused.get(index, {}).items()
        if name not in _SAYS_NOTHING_OF_OTHERS
    }


def _disagreement(finding: Finding, own: Mapping[str, Finding]) -> str:
    by_the_log = "; ".join(each.summary for each in own.values()) or "none of these operations is wrong"
    return (
        f"what the clients saw of {shorten(finding.resource)} and the storage's own order of writes"
        f" contradict each other; by the clients: {finding.summary}; by the storage's own order: {by_the_log}"
    )

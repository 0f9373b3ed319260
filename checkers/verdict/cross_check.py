"""Cross-check of the clients' view with the storage's own order: which findings remain?

The log decides what took effect and in which order, and the history is judged again with that knowledge (see
`commit_order` and `registers`). The clients' view says the same with less precision. It would accuse a read
of a value that a duplicate put back, or a write that was never stored: with the log, the finding has another
name, or nothing is wrong. Two kinds of findings remain:

- Findings that follow from a lost write. The log does not have the lost value, so it cannot
  show that a later write was stale, or that the mark went back.
- *Disagreements*: the log shows nothing wrong with a resource, and the clients' view does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from checkers.facts.evidence import Evidence
from checkers.facts.history_index import HistoryIndex
from checkers.text.printable import shorten
from checkers.vocabulary.reasons import Reason, ReasonKind
from checkers.vocabulary.verdict import Finding

_AFTER_A_LOSS = ("stale-write", "high-water-regression")
_SAYS_NOTHING_OF_OTHERS = {"duplicate-write", "lost-update"}


def cross_check(
    evidence: Evidence, committed: Sequence[Finding], observed: Iterable[Finding]
) -> tuple[tuple[Finding, ...], tuple[Reason, ...]]:
    """Return the findings of the clients' view that remain, given the log's, and the contradictions."""
    accused: dict[int, dict[str, Finding]] = defaultdict(dict)
    for finding in committed:
        accused[finding.accused][finding.anomaly] = finding
    decided = {finding.resource for finding in committed}
    log = evidence.log
    if log is not None:  # clients cannot see a commit that none of them sent
        decided.update(each.commit.resource for each in log.unmatched)
    index = HistoryIndex(evidence)
    kept: list[Finding] = []
    disagreements: list[Reason] = []
    for finding in observed:
        if finding.resource not in decided:
            kept.append(finding)
            disagreements.append(_disagreement(finding))
        elif (
            finding.anomaly in _AFTER_A_LOSS
            and finding.accused not in accused
            and not _is_of_a_read(evidence, finding)
        ):
            others = _others(evidence, index, finding, accused)
            if others.keys() == {"lost-write"}:
                kept.append(replace(finding, caused_by=finding.caused_by or others["lost-write"]))
    return tuple(kept), tuple(disagreements)


def _is_of_a_read(evidence: Evidence, finding: Finding) -> bool:
    """Does only a read show that a write was stale? It also shows that a newer one was lost."""
    accused, *because = (evidence.history.operations[index] for index in (finding.accused, *finding.because))
    return finding.anomaly == "stale-write" and not any(op.precedes(accused) for op in because)


def _others(
    evidence: Evidence, index: HistoryIndex, finding: Finding, accused: Mapping[int, Mapping[str, Finding]]
) -> dict[str, Finding]:
    """Return the log's findings on the operations that show a finding, and on the writes that they read."""
    operations = [evidence.history.operations[index] for index in (finding.accused, *finding.because)]
    writers = [index.writer(op) for op in operations if op.f == "read"]
    involved = {op.index for op in (*operations, *writers) if op is not None} - {finding.accused}
    return {
        name: each
        for index in sorted(involved)
        for name, each in accused.get(index, {}).items()
        if name not in _SAYS_NOTHING_OF_OTHERS
    }


def _disagreement(finding: Finding) -> Reason:
    return Reason(
        ReasonKind.CONTRADICTION,
        f"what the clients saw of {shorten(finding.resource)} and the storage's own order of writes"
        f" contradict each other; by the clients: {finding.summary}; by the storage's own order nothing is"
        " wrong",
    )

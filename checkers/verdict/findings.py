"""Findings in plain words: one sentence, the operations that prove it, and steps that say why.

The steps are in the order of their reasons and end in the contradiction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

from checkers.explain.conflict import Checker, Conflict
from checkers.explain.effects import first_reader
from checkers.explain.narrator import Narrator
from checkers.explain.proof import holds, prove
from checkers.explain.story import Cause, Story, on_lines, step
from checkers.facts.evidence import Evidence
from checkers.history.faults import Fault
from checkers.history.memoized import memoized
from checkers.history.records import Op, Outcome
from checkers.text.printable import naming, shorten
from checkers.vocabulary.document import CauseDocument
from checkers.vocabulary.reasons import Reason, ReasonKind
from checkers.vocabulary.verdict import Account, Finding


def explained(evidence: Evidence, checker: Checker) -> Iterator[Finding]:
    """Yield one finding for each conflict that a checker sees; it is explained on demand."""
    return (_finding(evidence, checker, conflict) for conflict in checker.check(evidence))


def _finding(evidence: Evidence, checker: Checker, conflict: Conflict) -> Finding:
    return Finding(
        anomaly=conflict.anomaly,
        resource=conflict.accused.resource,
        accused=conflict.accused.index,
        counted=conflict.counted,
        because=tuple(op.index for op in conflict.because),
        caused_by=None if conflict.cause is None else _finding(evidence, checker, conflict.cause),
        tell=partial(_explain, evidence, checker, conflict),
    )


def doubts_of(findings: Iterable[Finding]) -> Iterator[Reason]:
    """Yield the doubts about the proofs of some findings."""
    for finding in findings:
        if finding.account.doubt:
            named = finding.anomaly, shorten(finding.resource)
            yield Reason(ReasonKind.UNPROVED, *named, finding.account.doubt)


def _explain(evidence: Evidence, checker: Checker, conflict: Conflict) -> Account:
    """Prove a conflict and explain it. If that fails, it stays a conflict."""
    try:
        return _proved(evidence, checker, conflict)
    except Exception as error:  # noqa: BLE001 - the conflict was found anyway
        return Account(
            summary=f"{conflict.anomaly} on {shorten(conflict.accused.resource)}: {conflict.accused.f}",
            steps=(),
            operations=on_lines((conflict.accused, *conflict.because)),
            accused=on_lines([conflict.accused]),
            against=on_lines(conflict.because),
            rule=conflict.breach.rule,
            roles=roles(conflict.accused, conflict.because),
            doubt=shorten(f"it could not be explained: {type(error).__name__}: {error}"),
        )


def _proved(evidence: Evidence, checker: Checker, conflict: Conflict) -> Account:
    narrator = _narrator(evidence)
    candidates = _candidates(narrator, conflict)
    proof = prove(evidence, checker, conflict, candidates)
    if proof is None:
        story = replace(conflict, proof=tuple(candidates)).story(narrator)
        candidates = [*candidates, *story.proof]
        proof = prove(evidence, checker, conflict, candidates)
    if proof is None:
        return _account(story, conflict, candidates, _NOT_ALONE)
    shown = replace(_with_the_same_accused(conflict, proof.conflict), proof=proof.operations)
    story = shown.story(narrator)
    if not proof.is_smallest:
        story = replace(story, steps=(*story.steps, _NOT_REDUCED))
    others = tuple(islice(story.others, _MOST_OTHERS + 1))
    is_checked = proof.is_smallest and 0 < len(others) <= _MOST_OTHERS
    lasting = not is_checked or holds(evidence, checker, proof.conflict, {*proof.operations, *others})
    return _account(story, shown, proof.operations, "" if lasting else _CHANGED)


def _with_the_same_accused(conflict: Conflict, shown: Conflict) -> Conflict:
    """Restore the accused of a pair: fewer operations may not show which came second; all of them do."""
    is_pair = conflict.breach is shown.breach and shown.breach.is_pair
    if not is_pair or shown.accused == conflict.accused or conflict.accused not in shown.because:
        return shown
    return replace(shown, accused=conflict.accused, because=(shown.accused, *shown.because))


_NOT_REDUCED = step(
    "Not reduced to the smallest proof: the proofs of this verdict had taken as much work as they may, so"
    " some of the operations named here may not be needed."
)
_MOST_OTHERS = 100  # checking more of them for each of many findings would take too long
_NOT_ALONE = "the operations named here were not found to be wrong by themselves"
_CHANGED = "other operations than those named here may explain it"


def _account(story: Story, conflict: Conflict, operations: Iterable[Op], doubt: str) -> Account:
    proof = set(operations)
    names = {name for op in proof for name in (op.resource, op.job, op.error)}
    against = [op for op in conflict.because if op in proof and op != conflict.accused]
    named = [fault for each in story.steps for fault in each.about if isinstance(fault, Fault)]
    cause = () if story.cause is None or story.cause.fault is None else (story.cause.fault,)
    return Account(
        summary=naming(story.summary, *names),
        story=tuple(naming(sentence, *names) for sentence in story.sentences if sentence),
        steps=tuple(each.proved(naming(each.text, *names)) for each in story.steps),
        operations=on_lines(proof),
        accused=on_lines([conflict.accused]),
        against=on_lines(against),
        cause=None if story.cause is None else _cause(story.cause),
        rule=conflict.breach.rule,
        roles=roles(conflict.accused, against),
        faults=tuple(dict.fromkeys(fault.kind for fault in (*cause, *named))),
        doubt=doubt,
    )


def _cause(cause: Cause) -> CauseDocument:
    fault, late = cause.fault, cause.operation
    return CauseDocument(
        certain=cause.certain,
        fault=fault.kind if fault else "",
        target=fault.target if fault else "",
        faults=[*fault.lines] if fault else [],
        operations=[*on_lines([late])] if late else [],
    )


@memoized
def _narrator(evidence: Evidence) -> Narrator:
    return Narrator(evidence)


def _candidates(n: Narrator, conflict: Conflict) -> list[Op]:
    """Return a conflict's operations and the evidence that they took effect: a little more than the proof."""
    needs = conflict.breach.needs
    named = [conflict.accused, *conflict.because, *(needs(n, conflict) if needs else ())]
    writers = [n.index.writer(op) for op in named if op.f == "read" and op.outcome is Outcome.OK]
    known = [*named, *(writer for writer in writers if writer is not None)]
    return [*known, *(read for op in known for read in first_reader(n, op))]


def roles(accused: Op, against: Iterable[Op]) -> tuple[str, ...]:
    """Name the accused operation, then the kinds of operations that it contradicts, each once.

    For example "refused write", "newer write". Without clients, tokens and times, one mistake
    has the same roles in every run. A write that took effect is a write, answered or not, an acquire
    that got the lock is a grant, and a renewal counts as the grant that it renews.
    """
    others = tuple(against)
    granted = {op.owner for op in others if op.f == "acquire"}
    named = (op for op in others if op.f != "renew" or op.owner not in granted)
    return (_kind(accused), *sorted({f"{_age(op, accused)}{_kind(op)}" for op in named}))


def _kind(op: Op) -> str:
    if op.f == "acquire":
        return "grant" if op.outcome is Outcome.OK else "acquire"
    if op.outcome is not Outcome.FAIL:
        return op.f
    return f"refused {op.f}" if op.error == "stale" else f"failed {op.f}"


def _age(op: Op, accused: Op) -> str:
    if op.token is None or accused.token is None:
        return ""
    if accused.f == "read" and op.token != accused.token and op.value == accused.value:
        return ""  # the write that it returned has a wrong token: whether it is higher is chance
    if op.token == accused.token:
        return "equal "
    return "newer " if op.token > accused.token else "older "

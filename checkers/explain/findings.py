"""Findings in plain words: one sentence, the operations that prove it, and steps that say why.

The steps stand in the order of their reasons and end in the contradiction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.explain.durability_stories import LOSS_STORIES
from checkers.explain.fence_stories import FENCE_STORIES
from checkers.explain.narrator import Narrator, Stories, Story
from checkers.explain.proof import holds, prove
from checkers.explain.rejection_stories import REFUSAL_STORIES
from checkers.explain.shapes import Check
from checkers.explain.storage_stories import STORAGE_STORIES
from checkers.history.records import Op, Outcome
from checkers.lists import lost_update_stories
from checkers.locks import double_beliefs, early_grants, stuck_locks, tokens
from checkers.memoized import memoized
from checkers.printable import naming, shorten
from checkers.verdict import Account, Finding

STORIES: Stories = (
    STORAGE_STORIES
    | FENCE_STORIES
    | REFUSAL_STORIES
    | LOSS_STORIES
    | tokens.STORIES
    | early_grants.STORIES
    | double_beliefs.STORIES
    | stuck_locks.STORIES
    | lost_update_stories.STORIES
)


def explained(evidence: Evidence, check: Check) -> Iterator[Finding]:
    """One finding for each conflict that `check` sees; it is told when it is asked for."""
    return (_finding(evidence, check, conflict) for conflict in check(evidence))


def _finding(evidence: Evidence, check: Check, conflict: Conflict) -> Finding:
    return Finding(
        anomaly=conflict.anomaly,
        resource=conflict.accused.resource,
        accused=conflict.accused.index,
        counted=conflict.counted,
        because=tuple(op.index for op in conflict.because),
        caused_by=None if conflict.cause is None else _finding(evidence, check, conflict.cause),
        tell=partial(_tell, evidence, check, conflict),
    )


def doubts_of(told: Iterable[Finding]) -> Iterator[str]:
    """What could not be made certain of the findings' proofs, to be said beside them."""
    for finding in told:
        if finding.account.doubt:
            yield f"{finding.anomaly} on {shorten(finding.resource)}: {finding.account.doubt}"


def _tell(evidence: Evidence, check: Check, conflict: Conflict) -> Account:
    """Prove a conflict and tell it. Whatever goes wrong with that, it stays a conflict."""
    try:
        return _proved_and_told(evidence, check, conflict)
    except Exception as error:  # noqa: BLE001 - it was found all the same
        return Account(
            summary=f"{conflict.anomaly} on {shorten(conflict.accused.resource)}: {conflict.accused.f}",
            steps=(),
            operations=_lines((conflict.accused, *conflict.because)),
            accused=_lines([conflict.accused]),
            against=_lines(conflict.because),
            doubt=shorten(f"it could not be told: {type(error).__name__}: {error}"),
        )


def _proved_and_told(evidence: Evidence, check: Check, conflict: Conflict) -> Account:
    narrator = _narrator(evidence)
    candidates = _candidates(narrator, conflict)
    proof = prove(evidence, check, conflict, candidates)
    if proof is None:
        story = STORIES[conflict.rule](narrator, replace(conflict, proof=tuple(candidates)))
        candidates = [*candidates, *story.proof]
        proof = prove(evidence, check, conflict, candidates)
    if proof is None:
        return _account(story, conflict, candidates, _NOT_ALONE)
    shown = replace(_with_the_same_accused(conflict, proof.conflict), proof=proof.operations)
    story = STORIES[shown.rule](narrator, shown)
    lasting = not story.others or holds(evidence, check, proof.conflict, {*proof.operations, *story.others})
    return _account(story, shown, proof.operations, "" if lasting else _CHANGED)


def _with_the_same_accused(conflict: Conflict, shown: Conflict) -> Conflict:
    """Of two writes with one token, fewer operations may not show which came second; the others do."""
    is_pair = conflict.rule is shown.rule is Rule.SAME_TOKEN_TWICE
    if not is_pair or shown.accused == conflict.accused or conflict.accused not in shown.because:
        return shown
    return replace(shown, accused=conflict.accused, because=(shown.accused, *shown.because))


_NOT_ALONE = "the operations named here were not found to be wrong by themselves"
_CHANGED = "other operations than those named here may explain it"


def _account(story: Story, conflict: Conflict, operations: Iterable[Op], doubt: str) -> Account:
    proof = set(operations)
    names = {name for op in proof for name in (op.resource, op.error)}
    return Account(
        summary=naming(story.summary, *names),
        steps=tuple(naming(step, *names) for step in story.steps),
        operations=_lines(proof),
        accused=_lines([conflict.accused]),
        against=_lines(op for op in conflict.because if op in proof and op != conflict.accused),
        cause=_lines(story.cause),
        doubt=doubt,
    )


def _lines(operations: Iterable[Op]) -> tuple[int, ...]:
    return tuple(sorted({line for op in operations for line in op.lines}))


@memoized
def _narrator(evidence: Evidence) -> Narrator:
    return Narrator(evidence)


def _candidates(n: Narrator, conflict: Conflict) -> list[Op]:
    """What a conflict names, and what shows that it took effect: a few more than the smallest proof."""
    named = [conflict.accused, *conflict.because]
    if conflict.rule is Rule.FALSE_OR_STALE:
        named += n.causes(conflict)
    if conflict.rule is Rule.TOKEN_NOT_ABOVE:
        named += n.ends_between(conflict.because[0], conflict.accused)
    writers = [n.index.writer(op) for op in named if op.f == "read" and op.outcome is Outcome.OK]
    known = [*named, *(writer for writer in writers if writer is not None)]
    return [*known, *(read for op in known for read in n.first_reader(op))]

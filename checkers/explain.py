"""Findings in plain words: one sentence, the lines that prove it, and steps that say why.

The steps stand in the order of their reasons and end in the contradiction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkers.conflict import Conflict
from checkers.evidence import Evidence
from checkers.lock_stories import LOCK_STORIES
from checkers.narrator import Narrator
from checkers.records import Op
from checkers.storage_stories import STORAGE_STORIES
from checkers.verdict import Finding

_MOST_STEPS = 6
_MOST_LINES = 6
_STORIES = STORAGE_STORIES | LOCK_STORIES


def findings(evidence: Evidence, conflicts: Iterable[Conflict]) -> Iterator[Finding]:
    """Tell each conflict."""
    narrator = Narrator(evidence)
    for conflict in conflicts:
        story = _STORIES[conflict.rule](narrator, conflict)
        yield Finding(
            anomaly=conflict.anomaly,
            resource=conflict.accused.resource,
            summary=story.summary,
            operations=_lines(story.proof),
            steps=story.steps[-_MOST_STEPS:],
            accused=conflict.accused.index,
        )


def _lines(proof: Iterable[Op]) -> tuple[int, ...]:
    """The lines that prove it: whole operations while they fit, else their answers alone."""
    unique = dict.fromkeys(proof)
    lines = sorted({line for op in unique for line in op.lines})
    if len(lines) > _MOST_LINES:
        lines = sorted({op.lines[-1] for op in unique} | set(list(unique)[-1].lines))
    return tuple(lines[-_MOST_LINES:])

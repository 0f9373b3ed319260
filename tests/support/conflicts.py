"""The findings of the checkers in literal operations on a storage."""

from __future__ import annotations

from checkers.explain.conflict import Breach, Conflict
from checkers.facts.evidence import Evidence, gather
from checkers.history.reader import parse
from checkers.history.records import Op
from checkers.rules.registers import observed
from tests.support.brute_force import renumbered
from tests.support.in_columns import in_columns, lines_of

Summary = tuple[str, Breach, int, list[int]]


def summary_of(conflict: Conflict) -> Summary:
    return conflict.anomaly, conflict.breach, conflict.accused.index, [op.index for op in conflict.because]


def seen(*operations: Op, **header: object) -> list[Summary]:
    lines = lines_of(renumbered(operations), **header)
    found = list(observed(Evidence(history=parse(lines))))
    assert found == list(observed(gather(in_columns(lines))))
    return [summary_of(each) for each in found]

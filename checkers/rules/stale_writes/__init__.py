"""Stale-write: a write took effect after a write or a fence with a newer token had.

A strict fence also rules out an equal token. Three kinds of evidence show it:

- `by_log`: the storage's own order, where there is one. It alone decides.
- `by_clients`: when each write was called, what acknowledged writes, reads and fences prove, and the list
  that an append had read.
- `by_holds`: real time, where the lock gives no tokens.

A write below the token from before the run is stale, too. `story` has the words for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.explain.conflict import Checker, Conflict
from checkers.facts.evidence import Evidence
from checkers.rules.stale_writes import by_holds, by_log


def logged(evidence: Evidence) -> Iterator[Conflict]:
    """Yield all stale writes by the log, by tokens and by holds without tokens."""
    yield from by_log.in_log(evidence)
    yield from by_holds.in_log(evidence)


def came_after_higher(conflict: Conflict) -> bool:
    """Is it a stale write that came after a value with a higher token, not an equal one?"""
    token = conflict.accused.token or 0
    higher = (op for op in conflict.because if op.f != "fence" and (op.token or 0) > token)
    return conflict.anomaly == "stale-write" and any(higher)


CHECKER = Checker("stale-write", "committed", logged, compares_only=True)

"""What a reader should know about how a run was judged, whatever the verdict."""

from __future__ import annotations

from collections.abc import Iterator

from checkers.evidence import Evidence
from checkers.history.records import Outcome
from checkers.locks.holds import count_of_grants


def notices(evidence: Evidence) -> Iterator[str]:
    """Say what no verdict says: that the lock was never granted, and where the rules may miss something."""
    yield from _never_granted(evidence)
    yield from _not_complete(evidence)


def _never_granted(evidence: Evidence) -> Iterator[str]:
    """Report what the clients got instead: usually the same mistake in every answer."""
    if count_of_grants(evidence):
        return
    unknown = refused = 0
    said: str | None = None
    for op in evidence.named("acquire"):
        unknown += op.outcome is Outcome.INFO
        refused += op.outcome is Outcome.FAIL
        said = said or op.error
    if said is not None:
        yield (
            f"the lock was never granted: {unknown} acquires ended without a usable answer and {refused} were"
            f" refused; the first reason given: {said}"
        )


def _not_complete(evidence: Evidence) -> Iterator[str]:
    """With fences that write nothing, the rules are sound but not complete: they may miss something."""
    fenced = evidence.resources("fence")
    log = evidence.log
    if not fenced or not evidence.history.header.fenced or (log is not None and log.has_fences):
        return
    where = _some(fenced)
    decides = (
        "the storage's own order of writes and fences would decide"
        if log is None
        else "the storage's own order has no fences, so it was not decided"
    )
    yield (
        f"{where} was fenced without a write: the rules for what clients saw of it never accuse wrongly,"
        f" but may miss a violation; {decides}"
    )


def _some(resources: list[str]) -> str:
    more = len(resources) - 3
    return ", ".join(resources[:3]) + (f" and {more} more" if more > 0 else "")

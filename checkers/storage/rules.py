"""The rules of storages, as the checkers ask them of evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from checkers.conflict import Conflict
from checkers.evidence import Evidence
from checkers.storage.columnar_rules import LoggedBulk


def observed(evidence: Evidence) -> Sequence[Conflict]:
    """Judge what clients saw, without the commit log."""
    bulk = evidence.bulk
    return bulk.seen.observed if isinstance(bulk, LoggedBulk) else bulk.observed


def resolved(evidence: Evidence) -> Sequence[Conflict]:
    """Judge rejections and reads where the commit log says which writes took effect.

    The order of writes and reads is not judged here: the log decides it exactly.
    """
    bulk = evidence.bulk
    return bulk.resolved if isinstance(bulk, LoggedBulk) else ()


def stale_in_log(evidence: Evidence) -> Sequence[Conflict]:
    """Writes that stand in the log after a newer token."""
    bulk = evidence.bulk
    return bulk.stale_in_log if isinstance(bulk, LoggedBulk) else ()


def against_the_log(evidence: Evidence) -> Sequence[Conflict]:
    """Operations that come too late for their place in the storage's own order."""
    bulk = evidence.bulk
    return bulk.against_the_log if isinstance(bulk, LoggedBulk) else ()


def phantom_accepts(evidence: Evidence) -> Iterable[Conflict]:
    """Writes that the storage acknowledged and never stored."""
    return _missing(evidence, "phantom-accept")


def lost_writes(evidence: Evidence) -> Iterable[Conflict]:
    """Writes that had been there, and that the storage does not have any more."""
    return _missing(evidence, "lost-write")


def read_without_commit(evidence: Evidence) -> Iterable[Conflict]:
    """Reads of what the log lacks."""
    return _missing(evidence, "non-linearizable")


def _missing(evidence: Evidence, anomaly: str) -> Iterable[Conflict]:
    bulk = evidence.bulk
    missing = bulk.missing if isinstance(bulk, LoggedBulk) else ()
    return (each for each in missing if each.anomaly == anomaly)


def ghost_writes(evidence: Evidence) -> Iterable[Conflict]:
    """Writes that ended in fail and stand in the log."""
    bulk = evidence.bulk
    return bulk.ghost_writes if isinstance(bulk, LoggedBulk) else ()


def duplicate_writes(evidence: Evidence) -> Iterable[Conflict]:
    """Writes that stand twice in the log."""
    bulk = evidence.bulk
    return bulk.duplicate_writes if isinstance(bulk, LoggedBulk) else ()


def strays(evidence: Evidence) -> Iterable[Conflict]:
    """Commits of what nobody sent, or not so."""
    bulk = evidence.bulk
    return bulk.strays if isinstance(bulk, LoggedBulk) else ()


def unfenced_writes(evidence: Evidence) -> Iterable[Conflict]:
    """Writes without a token that a storage accepted which is said to be fenced."""
    return evidence.bulk.bare_writes if evidence.history.header.fenced else ()


def late_writes(evidence: Evidence) -> Sequence[Conflict]:
    """Accepted writes, called after a newer token had been granted, with no newer one before them."""
    return evidence.bulk.late_writes

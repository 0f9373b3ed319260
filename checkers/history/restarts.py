"""Restarts of the storage: the faults after which it may have forgotten what it had acknowledged."""

from __future__ import annotations

from collections.abc import Iterable

from checkers.history.faults import Fault, faults_of
from checkers.history.records import FaultEvent

_FORGETTING = ("kill", "restart", "failover", "script")  # a script may do any of these


def restarts_of_storage(events: Iterable[FaultEvent]) -> list[Fault]:
    """Observed kills, restarts, failovers and scripts of the storage or of one of its members."""
    return [
        fault
        for fault in faults_of(events)
        if fault.kind in _FORGETTING and fault.target.partition(":")[0] == "storage"
    ]


def any_between(restarts: Iterable[Fault], start: float, end: float) -> bool:
    """Was one of them in force at some moment of `[start, end]`?"""
    return any(fault.overlaps(start, end) for fault in restarts)

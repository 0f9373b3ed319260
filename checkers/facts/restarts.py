"""Restarts of the storage: faults after which it may have lost what it had acknowledged."""

from __future__ import annotations

from collections.abc import Sequence

from checkers.history.faults import Faults, faults_of
from checkers.history.memoized import of_the_last
from checkers.history.records import FaultEvent

_FORGETTING = ("kill", "restart", "failover", "script")  # a script may do any of these


@of_the_last
def restarts_of_storage(events: Sequence[FaultEvent]) -> Faults:
    """Return the observed kills, restarts, failovers and scripts of the storage or one of its members."""
    return Faults(
        [
            fault
            for fault in faults_of(events)
            if fault.kind in _FORGETTING and fault.target.partition(":")[0] == "storage"
        ]
    )

"""The counts of a run, and what a report says of each."""

from __future__ import annotations

COVERAGE = {
    "grants": "times the lock was granted",
    "pauses": "pauses observed from beginning to end",
    "partitions": "partitions observed from beginning to end",
    "kills": "kills observed from beginning to end",
    "failovers": "failovers observed from beginning to end",
    "clock_jumps": "jumps of a server's clock observed from beginning to end",
    "pauses_past_lease": "pauses that outlived the lease of the holder they hit",
    "grants_to_others": "grants to another client under a fault that outlived the lease of its holder",
    "late_writes_attempted": "writes sent after a newer token had been granted",
    "stale_writes_attempted": "writes that came after a write with a newer token",
    "stale_writes_rejected": "stale writes that the storage refused",
    "stale_writes_accepted": "stale writes that the storage accepted",
    "jobs_submitted": "jobs that the queue accepted",
    "executions": "executions of jobs that began",
    "executions_past_lease": "executions under a fault that outlived their lease",
}
"""Counts that show how hard a run tried; `require` may use their names and the names of other faults."""

NONE = {
    "grants": "the lock was never granted",
    "pauses": "no pause was observed from beginning to end",
    "partitions": "no partition was observed from beginning to end",
    "kills": "no kill was observed from beginning to end",
    "failovers": "no failover was observed from beginning to end",
    "clock_jumps": "no clock jump was observed from beginning to end",
    "pauses_past_lease": "no pause outlived the lease of the holder it hit",
    "grants_to_others": "no other client got the lock under a fault that outlived the lease of its holder",
    "late_writes_attempted": "no late write was attempted",
    "stale_writes_attempted": "no stale write was attempted",
    "stale_writes_rejected": "no stale write was refused",
    "stale_writes_accepted": "no stale write was accepted",
    "jobs_submitted": "no job was accepted by the queue",
    "executions": "no job was executed",
    "executions_past_lease": "no fault outlived the lease of an execution that it hit",
}
"""Words for a run without any of these."""

OF_JOBS = ("jobs_submitted", "executions", "executions_past_lease")
"""The counts of histories with jobs; other histories do not have them."""

OF_GRANTS = ("grants", "pauses_past_lease", "grants_to_others", "late_writes_attempted")
"""The counts that need recorded grants; the lock of a run of jobs records none."""

_WITHOUT_TOKENS = {
    "late_writes_attempted": "writes sent after a later hold had been granted",
    "stale_writes_attempted": "writes that came after a write of a later hold",
}

_NAMES = {"stale_writes_rejected": "stale writes refused"}  # the name of a field stays


def called(name: str) -> str:
    """Name a count for people."""
    return _NAMES.get(name, name.replace("_", " "))


def counted(name: str, *, by_tokens: bool = True) -> str:
    """Describe a count; one missing from the table belongs to a kind of fault."""
    if not by_tokens and name in _WITHOUT_TOKENS:
        return _WITHOUT_TOKENS[name]
    return COVERAGE.get(name, f"{name.replace('_', ' ')} observed from beginning to end")


def none_of(name: str) -> str:
    """Say that a count is 0."""
    return NONE.get(name, f"no {name.replace('_', ' ')} were observed from beginning to end")


WORK = {
    "reads": "reads that were answered",
    "writes": "writes that were acknowledged",
    "appends": "appends that were acknowledged",
    "server_faults": "kills, failovers and clock jumps of servers",
}
"""Other counts in a report."""

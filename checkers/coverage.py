"""How hard a run tried: a run that never challenged the fence proves nothing about it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from checkers.anomalies import COVERAGE
from checkers.evidence import Evidence
from checkers.faults import Fault, faults_of
from checkers.grants import granted
from checkers.highwater import HighWater
from checkers.lateness import newest_grants, stale_writes, superseded_by
from checkers.leases import promised_until
from checkers.records import Header, Op
from checkers.zones import Register, Zone, registers


def coverage(evidence: Evidence) -> dict[str, int]:
    """Count what the run challenged; the names are those of `COVERAGE`.

    A fault counts once it was seen in force and seen healed. A late write is
    one that was called after a newer token had been granted, whatever became
    of it. A stale write is one of a token below that of another write which

    - had been accepted when this one was called, or
    - can have been accepted when this one was rejected, or
    - stands before this one in the commit log.

    A strict fence that refuses a holder's own second write has not been
    challenged: the tokens are equal.
    """
    counts = dict.fromkeys(COVERAGE, 0)
    holds = granted(evidence.history.operations)
    grants = newest_grants(evidence)
    counts["grants"] = len(holds)
    counts["late_writes_attempted"] = sum(
        op.f == "write" and superseded_by(op, grants) is not None for op in evidence.history.operations
    )
    _count_faults(counts, evidence)
    stale = stale_writes(evidence)
    for register in registers(evidence):
        for _, effect in _attempts(register, stale):
            counts["stale_writes_attempted"] += 1
            counts["stale_writes_rejected"] += effect is False
            counts["stale_writes_accepted"] += effect is True
    return counts


def _attempts(register: Register, stale: set[int]) -> Iterator[tuple[Op, bool | None]]:
    """The stale writes of a register: True where it took effect, False where it was rejected."""
    accepted = HighWater((zone.settled, zone.token, zone) for zone in register.written)
    possible = HighWater((zone.write.called, zone.token, zone) for zone in register.written if zone.write)
    for zone in register.written:
        if zone.write is None:
            continue
        below = _is_below(zone.write, accepted, zone.write.called)
        if below or (zone.write.index in stale and _is_below(zone.write, possible, math.inf)):
            yield zone.write, True
    for write in register.optional:
        if _is_below(write, accepted, write.called):
            yield write, None
    for write in register.rejected:
        # closed intervals: what was called when this one returned can have caused it
        returned = math.inf if write.returned is None else write.returned + 1
        if _is_below(write, accepted, write.called) or _is_below(write, possible, returned):
            yield write, False


def _is_below(write: Op, marks: HighWater[Zone], time: float) -> bool:
    found = marks.before(time)
    return found is not None and write.token is not None and write.token < found[0]


def _count_faults(counts: dict[str, int], evidence: Evidence) -> None:
    header = evidence.history.header
    healed = [fault for fault in faults_of(evidence.history.faults) if fault.healed < math.inf]
    counts["pauses"] = sum(fault.kind == "pause" for fault in healed)
    counts["partitions"] = sum(fault.kind == "partition" for fault in healed)
    counts["kills"] = sum(fault.kind == "kill" for fault in healed)
    by_resource = evidence.by_resource("acquire", "renew", "release", "revoke")
    pauses = [fault for fault in healed if fault.kind == "pause"]
    others: set[int] = set()
    for pause in pauses:
        hold = hold_hit(pause, header, evidence.history.operations)
        if hold is None:
            continue
        operations = by_resource[hold.resource]
        counts["pauses_past_lease"] += _promised_end(hold, operations, pause) < pause.healed
        others.update(op.index for op in _grants_meanwhile(hold, operations, pause))
    counts["grants_to_others"] = len(others)


def hold_hit(pause: Fault, header: Header, operations: tuple[Op, ...]) -> Op | None:
    """The grant of the holder that a pause stopped; None if it stopped no holder.

    It is the nemesis' own word (owner and resource) where it gave one. Otherwise
    it is what client c, of the target `client:c`, held at that moment: c is the
    number of an OS process, which runs under the process numbers p with
    `p % clients == c` if the header says how many clients there are, and under
    the number c alone if it does not.
    """
    held = [
        op
        for op in granted(operations)
        if op.returned is not None and op.called <= pause.began and _is_by(op, pause, header)
    ]
    latest = max(held, key=lambda op: op.called, default=None)
    return None if latest is None or _was_over(latest, pause, operations) else latest


def is_client(process: int, client: int, header: Header) -> bool:
    """Is this process number one of that client's?"""
    return (process if header.clients is None else process % header.clients) == client


def _is_by(grant: Op, pause: Fault, header: Header) -> bool:
    if pause.owner is not None:
        return grant.owner == pause.owner and pause.resource in {None, grant.resource}
    return pause.client is not None and is_client(grant.process, pause.client, header)


def _was_over(grant: Op, pause: Fault, operations: tuple[Op, ...]) -> bool:
    if pause.owner is not None:
        return False
    return any(
        op.f in {"release", "revoke"}
        and op.owner == grant.owner
        and op.resource == grant.resource
        and grant.called <= op.called <= pause.began
        for op in operations
    )


def _promised_end(hold: Op, operations: list[Op], pause: Fault) -> float:
    """Until when the lease was promised by what had been sent before the pause, in ns."""
    own = [op for op in operations if op.owner == hold.owner and op.sent <= pause.began]
    lease = promised_until(hold, (op for op in own if op.f == "renew"), ())
    return math.inf if lease.set_by is None else lease.end


def _grants_meanwhile(hold: Op, operations: list[Op], pause: Fault) -> Iterator[Op]:
    for op in granted(operations):
        if op.owner != hold.owner and op.returned is not None and pause.began <= op.returned <= pause.healed:
            yield op

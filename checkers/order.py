"""Does the storage's own order agree with real time?

The log fixes the place of every write, and a read stands directly after the
write whose value it returned. So the clients' history is explained iff no
operation had returned before another was called that stands at a lower place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.highwater import HighWater
from checkers.once import once
from checkers.records import Op, Outcome
from checkers.zones import Register, Zone, registers


@once
def against_the_log(evidence: Evidence) -> Sequence[Conflict]:
    """Operations that come too late for their place in the storage's own order."""
    if evidence.log is None:
        return []
    return [conflict for register in registers(evidence) for conflict in _of_register(register)]


def _of_register(register: Register) -> Iterator[Conflict]:
    logged = [zone for zone in register.all_zones if zone.places]
    reached = HighWater(
        (op.returned, min(zone.places), (zone, op))
        for zone in logged
        for op in _operations(zone)
        if op.outcome is Outcome.OK and op.returned is not None
    )
    for zone in logged:
        last = max(zone.places)  # a write that stands twice may be read at either
        for op in _operations(zone):
            found = reached.before(op.called)
            if found is not None and found[0] > last:
                yield _conflict(op, zone, *found[1])


def _conflict(op: Op, zone: Zone, later: Zone, by: Op) -> Conflict:
    is_stale_read = op.f == "read" and zone.token < later.token
    return Conflict(
        anomaly="stale-read" if is_stale_read else "non-linearizable",
        rule=Rule.AGAINST_THE_LOG,
        accused=op,
        because=tuple(dict.fromkeys(each for each in (zone.write, later.write, by) if each)),
    )


def _operations(zone: Zone) -> tuple[Op, ...]:
    return zone.reads if zone.write is None else (zone.write, *zone.reads)

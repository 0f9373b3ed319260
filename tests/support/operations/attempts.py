"""How many late and stale writes were attempted, and the outcomes of the stale ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from checkers.evidence import Evidence
from checkers.high_water import HighWater
from checkers.history.records import WRITES, Op, Outcome
from checkers.storage.clusters import Zone
from tests.support.operations.late_writes import newest_grants, superseded_by, writes_after_newer
from tests.support.operations.registers import Register, registers, was_rejected


def attempts(evidence: Evidence) -> dict[str, int]:
    """As `attempts`."""
    names = ("stale_writes_attempted", "stale_writes_rejected", "stale_writes_accepted")
    counts = dict.fromkeys(names, 0)
    grants = newest_grants(evidence)
    counts["late_writes_attempted"] = sum(
        superseded_by(op, grants) is not None for op in evidence.named(*WRITES)
    )
    stale = writes_after_newer(evidence)
    writes = evidence.by_resource(*WRITES)
    for register in registers(evidence):
        for took_effect in _attempts(register, writes[register.resource], stale):
            counts["stale_writes_attempted"] += 1
            counts["stale_writes_rejected"] += took_effect is False
            counts["stale_writes_accepted"] += took_effect is True
    return counts


def _attempts(register: Register, writes: Iterable[Op], stale: AbstractSet[int]) -> Iterator[bool | None]:
    """For each stale write: did it take effect? False: it was rejected; None: unknown."""
    accepted = HighWater((zone.settled, zone.token, zone) for zone in register.written)
    possible = HighWater((zone.write.called, zone.token, zone) for zone in register.written if zone.write)
    effective = {zone.write.index for zone in register.written if zone.write}
    for write in writes:
        if write.index in effective:
            took_effect, possible_until = True, math.inf if write.index in stale else -math.inf
        elif was_rejected(write) and write.returned is not None:
            # closed intervals: a write called when this one returned can have caused it
            took_effect, possible_until = False, write.returned + 1
        elif write.outcome is Outcome.FAIL:
            continue  # no fence has seen it
        else:
            took_effect, possible_until = None, -math.inf
        if _is_below(write, accepted, write.called) or _is_below(write, possible, possible_until):
            yield took_effect


def _is_below(write: Op, marks: HighWater[Zone], time: float) -> bool:
    found = marks.before(time)
    return found is not None and write.token is not None and write.token < found[0]

"""Did a storage that is said to be fenced accept a write without a token?

Such a write takes no part in the order of tokens: it does not raise the mark, and no
mark can refuse it. Its value was there for whoever read it, that is all.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.columnar.columns import Operations
from checkers.conflict import Conflict, Rule
from checkers.evidence import Evidence
from checkers.records import Outcome
from checkers.zones import registers


def unfenced_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Writes without a token that took effect: by their ok, by a read, or by the commit log."""
    operations = evidence.history.operations
    if isinstance(operations, Operations) and not operations.columns.has_bare_writes:
        return
    if not evidence.history.header.fenced:
        return
    for register in registers(evidence):
        for zone in register.bare:
            if zone.write is not None:
                answered = zone.places or zone.write.outcome is Outcome.OK
                yield Conflict(
                    anomaly="unfenced-write",
                    rule=Rule.PASSED_THE_FENCE_BY,
                    accused=zone.write,
                    because=() if answered else zone.reads[:1],
                )

"""Did a storage that is said to be fenced accept a write without a token?

Such a write takes no part in the order of tokens: it does not raise the mark, and no
mark can refuse it. Its value could be read, that is all. A write that was
sent with a token, and that the commit log has without one, bypassed the fence as well: but
it is a write of that token, and stale if it comes after a newer one.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.explain.conflict import Conflict
from checkers.facts.evidence import Evidence
from checkers.history.records import Outcome
from checkers.rules.unfenced_writes import CARRIED_NO_TOKEN, LOST_ITS_TOKEN
from tests.support.object_log import ObjectLog, lost_its_token, object_log
from tests.support.operations.registers import registers


def unfenced_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Writes without a token that took effect.

    Without a commit log, that is shown by an ok or a read; with one, by the log or a read.
    """
    if evidence.history.header.fenced:
        yield from _sent_without_a_token(evidence)
        yield from _stored_without_a_token(object_log(evidence))


def _sent_without_a_token(evidence: Evidence) -> Iterator[Conflict]:
    is_logged = object_log(evidence) is not None
    for register in registers(evidence):
        for zone in register.bare:
            if zone.write is None or (is_logged and not zone.places and not zone.reads):
                continue
            shows_itself = zone.places or (not is_logged and zone.write.outcome is Outcome.OK)
            yield Conflict(
                anomaly="unfenced-write",
                breach=CARRIED_NO_TOKEN,
                accused=zone.write,
                because=() if shows_itself else zone.reads[:1],
            )


def _stored_without_a_token(log: ObjectLog | None) -> Iterator[Conflict]:
    """Their clients had a token, and some way to the storage leaves it out; or no client sent them."""
    for entry in () if log is None else log.unmatched:
        if lost_its_token(entry):
            yield Conflict(
                anomaly="unfenced-write",
                breach=LOST_ITS_TOKEN,
                accused=entry.accused,
                because=(entry.near,) if entry.near is not None else (),
            )

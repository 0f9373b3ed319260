"""The table of names: every anomaly, and every count of what a run challenged.

The order of `ANOMALIES` matters: one event is one finding, under the first name that fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """A kind of wrong behaviour that a history can show."""

    name: str
    area: Literal["storage", "lock", "both"]
    definition: str  # one plain sentence
    violation: bool = True  # False: it is counted, and nobody is to blame for it


_TABLE = (
    Anomaly(
        name="stale-write",
        area="storage",
        definition="A write with an older token took effect after a write with a newer one had.",
    ),
    Anomaly(
        name="stale-read",
        area="storage",
        definition=(
            "A read returned a write although one with a newer token had been accepted before"
            " the read was called."
        ),
    ),
    Anomaly(
        name="late-write",
        area="storage",
        definition=("A holder that had been superseded wrote before its successor did; no fence can see it."),
        violation=False,
    ),
    Anomaly(
        name="false-rejection",
        area="storage",
        definition=(
            "A write was rejected as stale though no newer token can have been accepted before"
            " the rejection came back."
        ),
    ),
    Anomaly(
        name="phantom-accept",
        area="storage",
        definition="The storage acknowledged a write that it never stored.",
    ),
    Anomaly(
        name="ghost-write",
        area="storage",
        definition="A write that was reported as failed took effect all the same.",
    ),
    Anomaly(
        name="duplicate-write",
        area="storage",
        definition="One write took effect twice: something repeated it.",
    ),
    Anomaly(
        name="lost-write",
        area="storage",
        definition="An acknowledged write was gone for good, and nothing had replaced it.",
    ),
    Anomaly(
        name="high-water-regression",
        area="storage",
        definition="The storage forgot the highest token it had accepted.",
    ),
    Anomaly(
        name="unfenced-write",
        area="storage",
        definition="A storage that is said to be fenced accepted a write without a token.",
    ),
    Anomaly(
        name="duplicate-token",
        area="lock",
        definition="The lock service gave the same token to two different owners.",
    ),
    Anomaly(
        name="token-regression",
        area="lock",
        definition="A later grant got a token that is not above an earlier one's.",
    ),
    Anomaly(
        name="early-grant",
        area="lock",
        definition="The lock was given to somebody while another's lease was still promised.",
    ),
    Anomaly(
        name="double-belief",
        area="lock",
        definition="Two clients believed at the same time that they held the lock.",
        violation=False,
    ),
    Anomaly(
        name="stuck-lock",
        area="lock",
        definition="The lock was free and the service healthy, and a waiting client got nothing.",
    ),
    Anomaly(
        name="lost-update",
        area="both",
        definition="An element that was appended under the lock is missing from a later list.",
    ),
    Anomaly(
        name="non-linearizable",
        area="both",
        definition="No order of the operations explains what the clients were told.",
    ),
)

ANOMALIES = {anomaly.name: anomaly for anomaly in _TABLE}
"""Every anomaly by its name, in the order in which names are tried."""

RANK = {name: rank for rank, name in enumerate(ANOMALIES)}
"""The place of each name in the table."""

VIOLATIONS = frozenset(anomaly.name for anomaly in _TABLE if anomaly.violation)
"""The names that make a run invalid; the others are only counted."""

COVERAGE = {
    "grants": "times the lock was granted",
    "pauses": "pauses seen in force and seen healed",
    "partitions": "partitions seen in force and seen healed",
    "kills": "kills seen in force and seen healed",
    "failovers": "failovers seen in force and seen healed",
    "clock_jumps": "jumps of a server's clock seen in force and seen healed",
    "pauses_past_lease": "pauses that outlived the lease of the holder they hit",
    "grants_to_others": "grants to somebody else while a holder was paused",
    "late_writes_attempted": "writes sent after a newer token had been granted",
    "stale_writes_attempted": "writes that came after a write with a newer token",
    "stale_writes_rejected": "stale writes that the storage refused",
    "stale_writes_accepted": "stale writes that the storage accepted",
}
"""What a run counts to show how hard it tried; the names that `require` may use."""

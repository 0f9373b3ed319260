"""The kinds of faults: the words that reports use for each, and the name of its count.

The table has the kinds of histories that bring no words of their own. The header of a history
brings the words of every other kind, so its reader need not know the nemesis that injected it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

KindName = Annotated[str, Meta(pattern="^[a-z][a-z-]*$", max_length=32)]
CountName = Annotated[str, Meta(pattern="^[a-z]+(_[a-z]+)*$", max_length=32)]
Words = Annotated[str, Meta(min_length=1, max_length=60)]


class FaultKind(Struct, frozen=True, kw_only=True):
    """The words for a kind of fault, each after the name of its target; and the count of the coverage."""

    lasting: Words  # while it was in force, in retrospect: "client 3 was paused"
    now: Words  # while it is in force: "client 3 is paused"
    afterwards: Words  # once it has healed: "client 3 runs again"
    short: Words  # next to its band in a drawing: "paused"
    count: CountName | None = None  # "pauses"; None: not counted


_PARTS = {"lock": "the lock service", "storage": "the storage", "queue": "the queue"}

KINDS: Mapping[str, FaultKind] = {
    "pause": FaultKind(
        lasting="was paused", now="is paused", afterwards="runs again", short="paused", count="pauses"
    ),
    "partition": FaultKind(
        lasting="was cut off",
        now="is cut off",
        afterwards="is connected again",
        short="cut off",
        count="partitions",
    ),
    "kill": FaultKind(
        lasting="was down", now="is down", afterwards="is up again", short="down", count="kills"
    ),
    "failover": FaultKind(
        lasting="failed over",
        now="is failing over",
        afterwards="has failed over",
        short="failed over",
        count="failovers",
    ),
    "clock": FaultKind(
        lasting="had its clock moved",
        now="has its clock moved",
        afterwards="has the right time again",
        short="clock moved",
        count="clock_jumps",
    ),
    "restart": FaultKind(lasting="was down", now="is down", afterwards="is up again", short="down"),
}
"""The kinds that every reader knows."""


def words_of(kind: str, own: FaultKind | None) -> FaultKind:
    """Return the words for a kind; `own` are the words in the history's header, if it brings any."""
    return (
        KINDS.get(kind)
        or own
        or FaultKind(
            lasting=f"was hit by {kind}",
            now=f"is hit by {kind}",
            afterwards=f"is no longer hit by {kind}",
            short=kind,
        )
    )


def part_of_run(target: str) -> str:
    """Name the target of a fault: a service, or a member of it."""
    part, _, member = target.partition(":")
    name = _PARTS.get(part, part)
    return f"{name} ({member})" if member else name


def named(target: str) -> str:
    """Name the target of a fault for a reader: "client 3", "the storage", "the lock service (redis-1)"."""
    part, _, member = target.partition(":")
    return f"client {member}" if part == "client" and member else part_of_run(target)

"""The registers of a history: every value that each resource held, and its other operations."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from checkers.explain.conflict import Breach, Conflict
from checkers.facts.clusters import Zone, initial_zone, written_zone
from checkers.facts.evidence import Evidence
from checkers.facts.high_water import HighWater
from checkers.history.memoized import memoized
from checkers.history.records import WRITES, Header, Op, Outcome, Value
from checkers.rules.ghost_writes import FAILED_BUT_READ
from checkers.rules.non_linearizable.misreads import READ_EARLY, UNWRITTEN, WRONG_TOKEN
from tests.support.object_log import ObjectLog, object_log


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """All operations on one resource, sorted by what they prove."""

    resource: str
    strict: bool
    logged: bool  # a commit log says which writes took effect, and in which order
    zones: tuple[Zone, ...]  # the initial value's first; then each write known to have taken effect
    bare: tuple[Zone, ...]  # those of writes without a token, which no fence can put in order
    optional: tuple[Op, ...]  # writes that may have taken effect, unseen
    rejected: tuple[Op, ...]  # writes and fences that were refused
    fences: tuple[Op, ...]  # ok and info
    misreads: tuple[Conflict, ...]  # reads that no write explains, and ghosts that were read
    ghosts: frozenset[int]  # indexes of failed writes that took effect

    @property
    def written(self) -> tuple[Zone, ...]:
        """The zones of writes."""
        return self.zones[1:]

    @property
    def initial_token(self) -> int:
        """The mark before the run."""
        return self.zones[0].token

    @property
    def all_zones(self) -> tuple[Zone, ...]:
        """Every value that was there, those without a token included."""
        return (*self.zones, *self.bare)


@memoized
def registers(evidence: Evidence) -> list[Register]:
    """The register of each resource that was written, fenced or read.

    With a commit log, exactly the writes in it took effect.
    """
    header = evidence.history.header
    log = object_log(evidence)
    return [
        _register(resource, operations, header, log)
        for resource, operations in evidence.by_resource(*WRITES, "read", "fence").items()
    ]


def flip_flops(zones: Sequence[Zone]) -> Iterator[tuple[Zone, Zone]]:
    """Pairs of values each of which must have been there before the other; at least one if any is.

    Algorithm R. A longer cycle of "surely before" always contains such a pair,
    so a register without one can be put in order.
    """
    ordered = sorted(zones, key=lambda zone: zone.settled)
    settled = [zone.settled for zone in ordered]
    latest = HighWater((zone.settled, zone.claimed, zone) for zone in ordered)
    for position, zone in enumerate(ordered):
        reach = min(position, bisect_left(settled, zone.claimed))
        found = latest.first(reach)
        if found is not None and zone.settled < found[0]:
            yield found[1], zone


def _register(resource: str, operations: Sequence[Op], header: Header, log: ObjectLog | None) -> Register:
    writes = [op for op in operations if op.f in WRITES]
    unmatched = () if log is None else log.unmatched_of(resource)
    unmatched_values = {each.commit.value for each in unmatched if not each.commit.fence}
    readers, misreads = _sort_reads(operations, writes, header, unmatched_values)
    initial_reads = readers.pop(None, [])
    ghosts: set[int] = set()
    zones = [initial_zone(header, initial_reads)]
    bare: list[Zone] = []
    optional: list[Op] = []
    for write in writes:
        reads = readers.get(write.index, [])
        places = () if log is None else log.places(write)
        acknowledged = write.outcome is Outcome.OK and (log is None or bool(places))
        if reads or places or acknowledged:
            kind = bare if write.token is None else zones
            kind.append(written_zone(write, reads, places, acknowledged=acknowledged))
            if write.outcome is Outcome.FAIL:
                ghosts.add(write.index)
        elif write.token is None:
            continue  # it cannot have raised the mark
        elif write.outcome is Outcome.OK or (write.outcome is Outcome.INFO and log is None):
            optional.append(write)  # an ok that the log lacks proves nothing any more
    return Register(
        resource=resource,
        strict=header.policy == "strict",
        logged=log is not None,
        zones=tuple(zones),
        bare=tuple(bare),
        optional=tuple(optional),
        rejected=tuple(
            op
            for op in operations
            if was_rejected(op)
            and op.token is not None
            and op.index not in ghosts
            and not (op.f == "fence" and log is not None and log.places(op))
        ),
        fences=tuple(op for op in operations if op.f == "fence" and op.outcome is not Outcome.FAIL),
        misreads=tuple(misreads),
        ghosts=frozenset(ghosts),
    )


def wrote(zone: Zone, writes: AbstractSet[int]) -> bool:
    """Is it the value of one of these writes, given by their indexes?"""
    return zone.write is not None and zone.write.index in writes


def was_rejected(op: Op) -> bool:
    """Was this write or fence refused as stale?"""
    return op.f in {*WRITES, "fence"} and op.outcome is Outcome.FAIL and op.error == "stale"


def _sort_reads(
    operations: Sequence[Op], writes: Sequence[Op], header: Header, unmatched: AbstractSet[Value]
) -> tuple[dict[int | None, list[Op]], list[Conflict]]:
    """The ok reads of each write (None: of the initial value), and those that no write explains."""
    by_value = {write.value: write for write in writes}
    readers: dict[int | None, list[Op]] = defaultdict(list)
    misreads: list[Conflict] = []
    ghosts: dict[int, Conflict] = {}
    for read in operations:
        if read.f != "read" or read.outcome is not Outcome.OK:
            continue
        write = by_value.get(read.value)
        if write is None:
            if read.value == header.initial_value and read.token in {None, header.initial_token}:
                readers[None].append(read)
            elif read.value not in unmatched:  # the log has it, and another rule reports that
                misreads.append(_misread(UNWRITTEN, read))
        elif (
            None not in {write.token, read.token}
            and write.token != read.token
            and read.value not in unmatched
        ):
            misreads.append(_misread(WRONG_TOKEN, read, write))
        elif read.precedes(write):
            misreads.append(_misread(READ_EARLY, read, write))
        else:
            readers[write.index].append(read)
            if write.outcome is Outcome.FAIL:
                ghost = Conflict(
                    anomaly="ghost-write", breach=FAILED_BUT_READ, accused=write, because=(read,)
                )
                ghosts.setdefault(write.index, ghost)
    return readers, [*misreads, *ghosts.values()]


def _misread(breach: Breach, read: Op, *because: Op) -> Conflict:
    return Conflict(anomaly="non-linearizable", breach=breach, accused=read, because=because)

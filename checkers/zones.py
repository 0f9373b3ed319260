"""Zones: each value that a register held, with the operations that prove when it was there.

Written values are unique, so a value's write and the reads that returned it
belong together, and no other value stands between them (Gibbons and Korach,
"Testing Shared Memories", 1997). Two moments of a zone decide its place:

settled  the earliest return of its operations: by then the value had been there
claimed  the latest call of its operations: the value was there after this

So u stood before v for certain iff `u.settled < v.claimed`: an operation of u
had returned before one of v was called.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checkers.conflict import Conflict, Rule
from checkers.highwater import HighWater
from checkers.once import once
from checkers.records import WRITES, Header, Op, Outcome, Value

if TYPE_CHECKING:  # evidence rests on zones where there are many
    from checkers.commit_log import CommitLog
    from checkers.evidence import Evidence


BELOW_ALL = -2
"""The place in the order of tokens of a write that carried none: below every mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """One value of a register: its write, and the ok reads that returned it."""

    token: int
    write: Op | None  # None: the value that stood there before the run
    reads: tuple[Op, ...]
    settled: float  # ns; infinity while nothing proves that it had been there by any moment
    settled_by: Op | None
    claimed: float  # ns
    claimed_by: Op | None
    places: tuple[int, ...] = ()  # where the write stands in the commit log; -1: before all

    def surely_before(self, other: Zone) -> bool:
        """Had this value been there before the other's last operation was called?"""
        return self.settled < other.claimed

    @property
    def proof(self) -> tuple[Op, ...]:
        """The write, and the operation that had returned when the value was settled."""
        return tuple(dict.fromkeys(op for op in (self.write, self.settled_by) if op is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """All that one resource's storage was asked, sorted by what it proves."""

    resource: str
    strict: bool
    logged: bool  # a commit log says which writes took effect, and in which order
    zones: tuple[Zone, ...]  # the initial value's first; then each write known to have taken effect
    bare: tuple[Zone, ...]  # those of writes without a token, which no fence can put in order
    optional: tuple[Op, ...]  # writes that may have taken effect, unseen
    rejected: tuple[Op, ...]  # writes that the fence refused
    fences: tuple[Op, ...]  # ok and info
    misreads: tuple[Conflict, ...]  # reads that no write explains, and ghosts that were read
    ghosts: frozenset[int]  # indexes of failed writes that took effect

    @property
    def written(self) -> tuple[Zone, ...]:
        """The zones of writes."""
        return self.zones[1:]

    @property
    def initial_token(self) -> int:
        """Where the mark stood before the run."""
        return self.zones[0].token

    @property
    def all_zones(self) -> tuple[Zone, ...]:
        """Every value that was there, those without a token included."""
        return (*self.zones, *self.bare)


@once
def registers(evidence: Evidence) -> list[Register]:
    """The register of each resource that was written, fenced or read.

    With a commit log, the writes that stand in it took effect and no others did.
    """
    header = evidence.history.header
    return [
        _register(resource, operations, header, evidence.log)
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


def went_back(one: Zone, other: Zone) -> Conflict:
    """Accuse the read that closes a flip-flop: the later called of the two that overtook."""
    late, early = sorted((one, other), key=lambda zone: zone.claimed, reverse=True)
    accused = late.claimed_by
    if accused is None:  # impossible: the later call of a flip-flop is a read's
        raise AssertionError("a flip-flop without a read")
    proof = (early.settled_by, late.settled_by, early.claimed_by)
    return Conflict(
        anomaly="stale-read" if late.token < early.token else "non-linearizable",
        rule=Rule.WENT_BACK,
        accused=accused,
        because=tuple(dict.fromkeys(op for op in proof if op is not None and op != accused)),
    )


def used_again(late: Zone, early: Zone) -> Conflict:
    """Accuse the write of a value whose token another value had used up, and say what shows their order."""
    if late.write is None or early.write is None:  # impossible: the initial value is no second write
        raise AssertionError("a second write without a write")
    shown = [early.settled_by, late.claimed_by] if early.surely_before(late) else []
    because = dict.fromkeys((early.write, *early.proof, *shown))
    return Conflict(
        anomaly="stale-write",
        rule=Rule.SAME_TOKEN_TWICE,
        accused=late.write,
        because=tuple(op for op in because if op is not None and op is not late.write),
    )


def _register(resource: str, operations: Sequence[Op], header: Header, log: CommitLog | None) -> Register:
    writes = [op for op in operations if op.f in WRITES]
    strays = () if log is None else log.strays_of(resource)
    stray_values = {each.commit.value for each in strays if not each.commit.fence}
    readers, misreads = _sort_reads(operations, writes, header, stray_values)
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
            op for op in writes if was_rejected(op) and op.token is not None and op.index not in ghosts
        ),
        fences=tuple(op for op in operations if op.f == "fence" and op.outcome is not Outcome.FAIL),
        misreads=tuple(misreads),
        ghosts=frozenset(ghosts),
    )


def wrote(zone: Zone, writes: AbstractSet[int]) -> bool:
    """Is it the value of one of these writes, given by their indexes?"""
    return zone.write is not None and zone.write.index in writes


def token_of(op: Op) -> int:
    """The token of an operation that is known to carry one."""
    if op.token is None:
        raise ValueError(f"{op.f} at line {op.lines[0]} carries no token")
    return op.token


def was_rejected(op: Op) -> bool:
    """Did a fence refuse this write?"""
    return op.f in WRITES and op.outcome is Outcome.FAIL and op.error == "stale"


def _sort_reads(
    operations: Sequence[Op], writes: Sequence[Op], header: Header, strays: AbstractSet[Value]
) -> tuple[dict[int | None, list[Op]], list[Conflict]]:
    """The ok reads of each write (None: of the initial value), and those that no write explains."""
    by_value = {write.value: write for write in writes}
    readers: dict[int | None, list[Op]] = defaultdict(list)
    misreads: list[Conflict] = []
    ghosts: set[int] = set()
    for read in operations:
        if read.f != "read" or read.outcome is not Outcome.OK:
            continue
        write = by_value.get(read.value)
        if write is None:
            if read.value == header.initial_value and read.token in {None, header.initial_token}:
                readers[None].append(read)
            elif read.value not in strays:  # the log has it, which is told by itself
                misreads.append(misread(Rule.VALUE_OF_NOBODY, read))
        elif None not in {write.token, read.token} and write.token != read.token and read.value not in strays:
            misreads.append(misread(Rule.VALUE_WITH_WRONG_TOKEN, read, write))
        elif read.precedes(write):
            misreads.append(misread(Rule.READ_BEFORE_WRITTEN, read, write))
        else:
            readers[write.index].append(read)
            if write.outcome is Outcome.FAIL and write.index not in ghosts:
                ghosts.add(write.index)
                misreads.append(
                    Conflict(
                        anomaly="ghost-write",
                        rule=Rule.FAILED_BUT_READ,
                        accused=write,
                        because=(read,),
                    )
                )
    return readers, misreads


def misread(rule: Rule, read: Op, *because: Op) -> Conflict:
    """A read that no write explains."""
    return Conflict(anomaly="non-linearizable", rule=rule, accused=read, because=because)


def initial_zone(header: Header, reads: Sequence[Op]) -> Zone:
    """What stood there before the run: a write at minus infinity."""
    claimed = max(reads, key=lambda read: read.called, default=None)
    return Zone(
        token=header.initial_token,
        write=None,
        reads=tuple(reads),
        settled=-math.inf,
        settled_by=None,
        claimed=-math.inf if claimed is None else claimed.called,
        claimed_by=claimed,
        places=(-1,),
    )


def written_zone(write: Op, reads: Sequence[Op], places: tuple[int, ...], *, acknowledged: bool) -> Zone:
    """A zone; `acknowledged`: the write's own ok proves that it was there when it returned."""
    answers = [*reads, write] if acknowledged else reads
    returns = [(op.returned, op) for op in answers if op.returned is not None]
    settled, settled_by = min(returns, key=lambda each: each[0], default=(math.inf, None))
    claimed_by = max((write, *reads), key=lambda op: op.called)
    return Zone(
        token=BELOW_ALL if write.token is None else write.token,
        write=write,
        reads=tuple(reads),
        settled=settled,
        settled_by=settled_by,
        claimed=claimed_by.called,
        claimed_by=claimed_by,
        places=places,
    )

"""What the clients of a fenced storage saw, judged register by register, on objects: Algorithm F.

`checkers.rules.registers` says what is asked, and why that suffices; it is held against this.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter

import numpy as np

from checkers.explain.conflict import Conflict, each_once, firsts
from checkers.facts.clusters import Zone, token_of
from checkers.facts.evidence import Evidence, as_seen
from checkers.facts.held_values import Values
from checkers.facts.high_water import HighWater
from checkers.facts.losses import StorageFacts
from checkers.facts.restarts import restarts_of_storage
from checkers.history.columns import ABSENT, NEVER
from checkers.history.commit_log import Entry
from checkers.history.memoized import memoized
from checkers.history.records import Header, Op
from checkers.rules.lost_writes import with_losses
from checkers.rules.stale_reads import OLDER_THAN_ACCEPTED, WENT_BACK, went_back
from checkers.rules.stale_writes.by_clients import SEEN_AFTER_NEWER, used_again
from checkers.rules.stale_writes.by_log import LOGGED_AFTER_NEWER
from checkers.rules.stale_writes.story import BELOW_THE_START, SENT_AFTER_NEWER
from tests.support.object_log import object_log
from tests.support.operations import rejections, undone_writes
from tests.support.operations.marks import is_stale
from tests.support.operations.order import LogOrder, orders
from tests.support.operations.registers import Register, flip_flops, registers, wrote

Mark = HighWater[tuple[Op, ...]]
"""What proves the highest token reached before a moment; nothing for the initial one."""


@memoized
def observed(evidence: Evidence) -> Sequence[Conflict]:
    """Judge what clients saw, without the commit log."""
    if evidence.log is not None:
        return observed(as_seen(evidence))
    is_fenced = evidence.history.header.fenced
    storage = StorageFacts.of(evidence)
    found: list[Conflict] = []
    for register in registers(evidence):
        conflicts: Iterable[Conflict] = fenced_register(register) if is_fenced else plain_register(register)
        if is_fenced:
            conflicts = undone_writes.unless_undone(register, storage.restarts, conflicts)
        found += with_losses(partial(of_register, register), storage, list(firsts(conflicts)))
    return found


@memoized
def resolved(evidence: Evidence) -> Sequence[Conflict]:
    """Judge rejections and reads if a commit log says which writes took effect.

    The order of writes and reads is not judged here: the log decides it exactly.
    """
    return [] if evidence.log is None else list(_resolved(evidence))


def _resolved(evidence: Evidence) -> Iterator[Conflict]:
    header = evidence.history.header
    restarts = restarts_of_storage(evidence.history.faults)
    for register in registers(evidence):
        yield from register.misreads
        order = orders(evidence)[register.resource]
        if not order.has_fences:
            yield from _after_fence(register, order)
        yield from rejections.of_logged(register, order, restarts, fenced=header.fenced)


@memoized
def stale_in_log(evidence: Evidence) -> Sequence[Conflict]:
    """Stale-write, decided exactly: a write that comes after a newer token in the log.

    Strict: after another write with an equal token, too. The logged token decides, not its
    sender, and a fence counts as a write does.
    """
    log, header = object_log(evidence), evidence.history.header
    if log is None:
        return []
    return [conflict for entries in log.of_resource.values() for conflict in _stale_among(entries, header)]


def _stale_among(entries: Iterable[Entry], header: Header) -> Iterator[Conflict]:
    strict = header.policy == "strict"
    highest: Op | None = None
    for entry in entries:
        token, op = entry.token, entry.op
        if token is None:
            continue
        is_above = highest is None or not is_stale(token, token_of(highest), strict=strict)
        if not entry.commit.fence and is_stale(token, header.initial_token, strict=strict):
            yield Conflict(anomaly="stale-write", breach=BELOW_THE_START, accused=op)
        elif is_above or highest is None:
            highest = op
        elif not entry.commit.fence and highest.index != op.index:
            # one write that is logged twice is a duplicate-write
            yield Conflict(anomaly="stale-write", breach=LOGGED_AFTER_NEWER, accused=op, because=(highest,))


def fenced_register(register: Register) -> Iterator[Conflict]:
    """Algorithm F: right iff nothing is yielded (with fences: necessary only)."""
    yield from register.misreads
    stale = list(_stale_writes(register))
    yield from stale
    broken = _indexes(stale)
    alone = list(_alone_after_newer(register, broken | register.ghosts))
    yield from alone
    before, odd = broken | register.ghosts, broken | register.ghosts | _indexes(alone)
    sound = [zone for zone in register.zones if not wrote(zone, odd)]
    yield from _stale_reads(register, sound, before)
    for zone in (*register.written, *register.bare):
        if zone.reads and zone.write is not None and (zone.write.token is None or wrote(zone, odd)):
            yield from _reads_after_replaced(register, zone)
    if not register.strict:
        yield from _flip_flops_of_levels(sound)
    yield from rejections.of_fenced(register, broken, odd)


def plain_register(register: Register) -> Iterator[Conflict]:
    """A storage without a fence: its order must only be a register's (algorithm R).

    A write is stale if it comes after a newer one in every such order. A read of
    an older token is not a stale-read then: it shows the effect of the stale write.
    """
    yield from register.misreads
    sent_after = list(_stale_writes(register))
    yield from sent_after
    for zone, newer in _read_after_newer(register, _indexes(sent_after)):
        if not zone.surely_before(newer):
            yield _seen(zone, newer)
    for one, other in flip_flops(register.all_zones):
        yield went_back(one, other)
    yield from rejections.of_unfenced(register)


def _alone_after_newer(register: Register, odd: set[int]) -> Iterator[Conflict]:
    """Writes that explain all reads of theirs if they passed the fence late."""
    for zone, newer in _read_after_newer(register, odd):
        if _not_written_late(register, zone, odd) is None:
            yield _seen(zone, newer)


def _not_written_late(register: Register, zone: Zone, odd: set[int]) -> Zone | None:
    """What shows that the fence did not let a write pass late.

    A value that replaced it, or that was there afterwards and that the fence would have refused by then.
    """
    newest = max(each.token for each in register.zones if each.surely_before(zone))
    later = (
        each
        for each in sorted(register.zones, key=attrgetter("token"))
        if each is not zone and not wrote(each, odd) and zone.surely_before(each) and each.token < newest
    )
    return _replaced_by(register.all_zones, zone, zone.claimed) or next(later, None)


def _read_after_newer(register: Register, known: set[int]) -> Iterator[tuple[Zone, Zone]]:
    """Values that were read after a newer one had been there, and the newest such one of each."""
    mark = _mark(register, fences=False)
    levels = _by_token(register.zones)
    for zone in register.written:
        found = None if wrote(zone, known) else mark.before(zone.claimed)
        if found is not None and found[0] > zone.token:
            yield zone, next(each for each in levels[int(found[0])] if each.surely_before(zone))


def _seen(zone: Zone, newer: Zone) -> Conflict:
    if zone.write is None or zone.claimed_by is None:
        raise AssertionError("a written value without operations")
    because = (*newer.proof, zone.claimed_by)
    return Conflict(anomaly="stale-write", breach=SEEN_AFTER_NEWER, accused=zone.write, because=because)


def _replaced_by(zones: Iterable[Zone], zone: Zone, called: float) -> Zone | None:
    """What was there after a value had been, and before a moment: the first that was settled."""
    by = (each for each in zones if each is not zone and zone.surely_before(each) and each.settled < called)
    return min(by, key=attrgetter("settled"), default=None)


def _by_token(zones: Iterable[Zone]) -> Mapping[int, Sequence[Zone]]:
    levels: dict[int, list[Zone]] = defaultdict(list)
    for zone in zones:
        levels[zone.token].append(zone)
    return levels


def _stale_writes(register: Register) -> Iterator[Conflict]:
    """Writes that took effect although they were called after a newer token had been accepted."""
    sent_after = list(_sent_after(register, _mark(register, fences=True)))
    yield from sent_after
    if register.strict:
        broken = _indexes(sent_after)
        yield from _second_uses(zone for zone in register.written if not wrote(zone, broken))


def _second_uses(zones: Iterable[Zone]) -> Iterator[Conflict]:
    """Strict: of several accepted writes with one token, all but one came too late.

    Of two, that is the one that surely came second; if nothing says which, the one that was
    called later.
    """
    first: dict[int, Zone] = {}
    for zone in zones:  # in the order of their calls
        other = first.setdefault(zone.token, zone)
        if other is zone:
            continue
        if zone.surely_before(other) and not other.surely_before(zone):
            first[zone.token] = zone
            yield used_again(other, zone)
        else:
            yield used_again(zone, other)


def _after_fence(register: Register, order: LogOrder) -> Iterator[Conflict]:
    """Writes that took effect after a fence with a newer token had been acknowledged that is not logged.

    A write took effect after everything up to its place in the log had been called.
    """
    mark = Mark(_acknowledged_fences(register))
    for place, entry in enumerate(order.entries):
        token, found = entry.token, mark.before(order.starts[place])
        if entry.commit.fence or token is None or found is None:
            continue
        if is_stale(token, found[0], strict=register.strict):
            latest = max((each.op for each in order.entries[: place + 1]), key=attrgetter("called"))
            because = (*found[1], *([] if latest.index == entry.op.index else [latest]))
            yield Conflict(anomaly="stale-write", breach=SENT_AFTER_NEWER, accused=entry.op, because=because)


def _sent_after(register: Register, mark: Mark) -> Iterator[Conflict]:
    """Writes that took effect although they were called after the mark had passed their token."""
    for zone in register.written:
        found = None if zone.write is None else mark.before(zone.write.called)
        if zone.write and found and is_stale(zone.token, found[0], strict=register.strict):
            breach = SENT_AFTER_NEWER if found[1] else BELOW_THE_START
            yield Conflict(anomaly="stale-write", breach=breach, accused=zone.write, because=found[1])


def _stale_reads(register: Register, zones: Iterable[Zone], odd: set[int]) -> Iterator[Conflict]:
    """Reads of an older value, called after a newer one had been accepted."""
    mark = _mark(register, fences=False)  # a fence raises the mark and leaves the value
    for zone in zones:
        for read in zone.reads:
            found = mark.before(read.called)
            if found is not None and found[0] > zone.token:
                because = [*found[1]]
                other = _not_written_late(register, zone, odd)
                if zone.settled >= found[1][0].called and other is not None:
                    because += each_once(
                        read, *other.proof, other.claimed_by, zone.settled_by, zone.claimed_by
                    )
                yield Conflict(
                    anomaly="stale-read",
                    breach=OLDER_THAN_ACCEPTED,
                    accused=read,
                    because=tuple(dict.fromkeys(because)),
                )


def _reads_after_replaced(register: Register, zone: Zone) -> Iterator[Conflict]:
    """Reads of a value that should not have been there, called after another had replaced it."""
    for read in zone.reads:
        other = _replaced_by(register.written, zone, read.called)
        if other is not None:
            yield Conflict(
                anomaly="stale-read" if zone.token < other.token else "non-linearizable",
                breach=WENT_BACK,
                accused=read,
                because=tuple(each_once(read, zone.settled_by, other.claimed_by, *other.proof)),
            )


def _flip_flops_of_levels(zones: Iterable[Zone]) -> Iterator[Conflict]:
    for level in _by_token(zones).values():
        for one, other in flip_flops(level):
            yield went_back(one, other)


def _mark(register: Register, *, fences: bool) -> Mark:
    entries: list[tuple[float, float, tuple[Op, ...]]] = [
        (zone.settled, zone.token, zone.proof) for zone in register.zones
    ]
    if fences:
        entries.extend(_acknowledged_fences(register))
    return Mark(entries)


def _acknowledged_fences(register: Register) -> Iterator[tuple[float, float, tuple[Op, ...]]]:
    for fence in register.fences:
        if fence.returned is not None:
            yield fence.returned, token_of(fence), (fence,)


def _indexes(conflicts: Iterable[Conflict]) -> set[int]:
    return {conflict.accused.index for conflict in conflicts}


def of_register(register: Register) -> Values:
    """The values that one register held; moments are in ns."""
    zones = register.all_zones
    place_of = {read.index: place for place, zone in enumerate(zones) for read in zone.reads}
    return Values(
        settled=np.array([_moment(zone.settled) for zone in zones]),
        claimed=np.array([_moment(zone.claimed) for zone in zones]),
        called=np.array([_called(zone) for zone in zones]),
        token=np.array([zone.token for zone in zones]),
        read_by=np.array([min((_over(read) for read in zone.reads), default=NEVER) for zone in zones]),
        zone=zones.__getitem__,
        place_of=lambda read: place_of[read.index],
        moments=lambda op: (op.called, _over(op)),
    )


def _over(op: Op) -> int:
    return NEVER if op.returned is None else op.returned


def _called(zone: Zone) -> int:
    return ABSENT if zone.write is None else zone.write.called


def _moment(time: float) -> int:
    return int(time) if math.isfinite(time) else NEVER if time > 0 else ABSENT

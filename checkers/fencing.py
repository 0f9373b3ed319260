"""What the clients of a fenced storage saw: does some order of the operations explain it?

The model is a register with a mark. A write with token t is accepted iff
`t > mark` (strict) or `t >= mark` (inclusive), and then the mark is t. A write
that ended in info may have been accepted at any time after its call, or never.

Accepted writes stand in the order of their tokens, so the place of each token,
its *level*, is forced, and only four questions remain:

1. Was every value that was read written, with that token, and not later?
2. Inclusive: can the values of one level be put in order? (see `zones`)
3. Had each rejected write a *cause*: a level that the mark can have reached
   before the rejection returned? The lowest such level is the least that the
   rejection proves.
4. Did anything carry a lower token than what had surely been reached before it
   was called?

Each is necessary, and together they suffice: a rejected write can be put at
the higher of its cause and of what had been reached when it was called, which
keeps real time. So the history is right iff all four hold. With `fence`
operations they are necessary only, and a commit log must decide the rest.

Once a stale write is certain, it no longer counts for its level, and a read of
its value is judged as in a plain register: what follows from one event is not
another one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from checkers.conflict import Conflict, Rule, firsts
from checkers.evidence import Evidence, gather
from checkers.highwater import HighWater
from checkers.once import once
from checkers.records import Op
from checkers.zones import Register, Zone, flip_flops, registers, went_back

Mark = HighWater[tuple[Op, ...]]
"""What proves the highest token reached before a moment; nothing for the initial one."""


@once
def observed(evidence: Evidence) -> Sequence[Conflict]:
    """Judge what clients saw, without the commit log."""
    if evidence.log is not None:
        return observed(gather(evidence.history))
    if evidence.bulk is not None:
        return evidence.bulk.observed
    judge = fenced_register if evidence.history.header.fenced else plain_register
    return [conflict for register in registers(evidence) for conflict in firsts(judge(register))]


@once
def resolved(evidence: Evidence) -> Sequence[Conflict]:
    """Judge rejections and reads where the commit log says which writes took effect.

    The order of writes and reads is not judged here: the log decides it exactly.
    """
    return [] if evidence.log is None else list(_resolved(evidence))


def _resolved(evidence: Evidence) -> Iterator[Conflict]:
    stale = {conflict.accused.index for conflict in stale_in_log(evidence)}
    for register in registers(evidence):
        yield from register.misreads
        if evidence.history.header.fenced:
            after_fence = list(_after_fence(register))
            yield from after_fence
            broken = stale | _indexes(after_fence)
            yield from _rejections(register, broken, broken | register.ghosts)


def stale_in_log(evidence: Evidence) -> Iterator[Conflict]:
    """Stale-write, decided exactly: a write that stands in the log after one with a newer token.

    Strict: after another write with an equal token, too.
    """
    if evidence.log is None:
        return
    header = evidence.history.header
    strict = header.policy == "strict"
    highest: dict[str, Op] = {}
    for write in evidence.log.writes:
        if write.token is None:
            continue
        top = highest.get(write.resource)
        if is_stale(_token(write), header.initial_token, strict=strict):
            yield Conflict(anomaly="stale-write", rule=Rule.BELOW_THE_START, accused=write)
        elif top is None or not is_stale(_token(write), _token(top), strict=strict):
            highest[write.resource] = write
        elif top is not write:  # one write that stands twice is a duplicate-write
            yield Conflict(
                anomaly="stale-write",
                rule=Rule.LOGGED_AFTER_NEWER,
                accused=write,
                because=(top,),
            )


def is_stale(token: int, mark: float, *, strict: bool) -> bool:
    """Would a fence at this mark refuse the token?"""
    return token <= mark if strict else token < mark


def fenced_register(register: Register) -> Iterator[Conflict]:
    """Algorithm F: right iff nothing is yielded (with fences: necessary only)."""
    yield from register.misreads
    stale = list(_stale_writes(register))
    yield from stale
    broken = _indexes(stale)
    odd = broken | register.ghosts
    sound = [zone for zone in register.zones if not _is_of(zone, odd)]
    yield from _stale_reads(register, sound)
    for zone in register.written:
        if _is_of(zone, odd):
            yield from _reads_after_replaced(register, zone)
    if not register.strict:
        yield from _flip_flops_of_levels(sound)
    yield from _rejections(register, broken, odd)


def plain_register(register: Register) -> Iterator[Conflict]:
    """A storage without a fence: its order must only be a register's (algorithm R).

    A write is stale if it stood after a newer one in every such order. A read of
    an older token is no stale-read then: it shows what the stale write did.
    """
    yield from register.misreads
    sent_after = list(_stale_writes(register))
    yield from sent_after
    known = _indexes(sent_after)
    mark = _mark(register, fences=False)
    for zone in register.written:
        if zone.write is None or zone.write.index in known or zone.claimed_by is None:
            continue
        found = mark.before(zone.claimed)
        if found is None or found[0] <= zone.token:
            continue
        newer = _newest_settled(register, zone)
        if not zone.surely_before(newer):
            yield Conflict(
                anomaly="stale-write",
                rule=Rule.SEEN_AFTER_NEWER,
                accused=zone.write,
                because=(*newer.proof, zone.claimed_by),
            )
    for one, other in flip_flops(register.zones):
        yield went_back(one, other)


def _newest_settled(register: Register, zone: Zone) -> Zone:
    """Of the values that had surely been there before this one, the one with the newest token."""
    before = (each for each in register.zones if each is not zone and each.surely_before(zone))
    return max(before, key=lambda each: each.token)


def _stale_writes(register: Register) -> Iterator[Conflict]:
    """Writes that took effect although they were called after a newer token had been accepted."""
    mark = _mark(register, fences=True)
    sound: list[Zone] = []
    for zone in register.written:
        if zone.write is None:
            continue
        found = mark.before(zone.write.called)
        if found is not None and is_stale(zone.token, found[0], strict=register.strict):
            rule = Rule.SENT_AFTER_NEWER if found[1] else Rule.BELOW_THE_START
            yield Conflict(anomaly="stale-write", rule=rule, accused=zone.write, because=found[1])
        else:
            sound.append(zone)
    if register.strict:
        yield from _second_uses(sound)


def _second_uses(zones: Iterable[Zone]) -> Iterator[Conflict]:
    """Strict: of several accepted writes with one token, all but one came too late."""
    first: dict[int, Op] = {}
    for zone in zones:  # in the order of their calls
        if zone.write is None:
            continue
        other = first.setdefault(zone.token, zone.write)
        if other is not zone.write:
            yield Conflict(
                anomaly="stale-write",
                rule=Rule.SAME_TOKEN_TWICE,
                accused=zone.write,
                because=(other,),
            )


def _after_fence(register: Register) -> Iterator[Conflict]:
    """Writes that took effect although a fence with a newer token had been acknowledged."""
    mark = Mark(_acknowledged_fences(register))
    for zone in register.written:
        if zone.write is None:
            continue
        found = mark.before(zone.write.called)
        if found is not None and is_stale(zone.token, found[0], strict=register.strict):
            yield Conflict(
                anomaly="stale-write",
                rule=Rule.SENT_AFTER_NEWER,
                accused=zone.write,
                because=found[1],
            )


def _stale_reads(register: Register, zones: Iterable[Zone]) -> Iterator[Conflict]:
    """Reads of an older value, called after a newer one had been accepted."""
    mark = _mark(register, fences=False)  # a fence raises the mark and leaves the value
    for zone in zones:
        for read in zone.reads:
            found = mark.before(read.called)
            if found is not None and found[0] > zone.token:
                yield Conflict(
                    anomaly="stale-read",
                    rule=Rule.OLDER_THAN_ACCEPTED,
                    accused=read,
                    because=found[1],
                )


def _reads_after_replaced(register: Register, zone: Zone) -> Iterator[Conflict]:
    """Reads of a value that should not have been there, called after another had replaced it."""
    replaced = [each for each in register.written if each is not zone and zone.surely_before(each)]
    for read in zone.reads:
        for other in replaced:
            if other.settled < read.called:
                yield Conflict(
                    anomaly="stale-read" if zone.token < other.token else "non-linearizable",
                    rule=Rule.WENT_BACK,
                    accused=read,
                    because=tuple(
                        op
                        for op in dict.fromkeys((zone.settled_by, other.claimed_by, *other.proof))
                        if op is not None and op is not read
                    ),
                )
                break


def _flip_flops_of_levels(zones: Iterable[Zone]) -> Iterator[Conflict]:
    levels: dict[int, list[Zone]] = defaultdict(list)
    for zone in zones:
        levels[zone.token].append(zone)
    for level in levels.values():
        for one, other in flip_flops(level):
            yield went_back(one, other)


def _rejections(register: Register, broken: AbstractSet[int], odd: AbstractSet[int]) -> Iterator[Conflict]:
    """Rejections without a cause, and what contradicts the cause that a rejection must have had.

    `broken` are stale writes; they and `odd` ones say nothing certain of their level.
    """
    levels = _levels(register, broken)
    caused: list[tuple[float, float, tuple[Op, ...]]] = []
    for rejected in register.rejected:
        cause = levels.cause(rejected, strict=register.strict)
        if isinstance(cause, Conflict):
            yield cause
        elif rejected.returned is not None:
            caused.append((rejected.returned, cause, (rejected,)))
    mark = Mark(caused)
    read_mark = Mark([] if register.fences else caused)  # a fence may have caused it: no value then
    for zone in register.zones:
        if _is_of(zone, odd):
            continue
        for op, by in ((zone.write, mark), *((read, read_mark) for read in zone.reads)):
            found = None if op is None else by.before(op.called)
            if op is not None and found is not None and found[0] > zone.token:
                yield Conflict(
                    anomaly="non-linearizable",
                    rule=Rule.FALSE_OR_STALE,
                    accused=op,
                    because=found[1],
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """A token that the mark reached, or may have."""

    token: int
    definite: bool  # a write of it took effect, so every higher level came later
    start: float  # ns; the mark cannot have been there before
    first: Op | None  # what raised it, or may have; None: it was there before the run


@dataclass(frozen=True, slots=True, kw_only=True)
class _Levels:
    """The levels of a register, lowest first."""

    levels: Sequence[_Level]
    logged: bool  # they came in this order for certain

    def cause(self, rejected: Op, *, strict: bool) -> float | Conflict:
        """The lowest level that can have caused a rejection, or the conflict if there is none.

        A definite level that came too late hides those above it, which come
        later still, which the log knows. Without a log, if one of those can have
        been there all the same, then either it was, and the definite one is
        stale, or the rejection is false.
        """
        least = _token(rejected) if strict else _token(rejected) + 1
        returned = math.inf if rejected.returned is None else rejected.returned
        candidates = self.levels[bisect_left(self.levels, least, key=lambda level: level.token) :]
        in_time = [level.start <= returned for level in candidates]
        for level, can_be in zip(candidates, in_time, strict=True):
            if can_be:
                return level.token
            if not level.definite or level.first is None:
                continue
            if self.logged or not any(in_time):
                break
            return Conflict(
                anomaly="non-linearizable",
                rule=Rule.FALSE_OR_STALE,
                accused=level.first,
                because=(rejected,),
            )
        return Conflict(anomaly="false-rejection", rule=Rule.NO_CAUSE, accused=rejected)


def _levels(register: Register, broken: AbstractSet[int]) -> _Levels:
    initial = register.zones[0].token
    zones: dict[int, list[Zone]] = defaultdict(list)
    for zone in register.zones:
        if not _is_of(zone, broken):
            zones[zone.token].append(zone)
    raising: dict[int, list[Op]] = defaultdict(list)  # what may have raised the mark, unseen
    for write in register.optional:
        if register.strict and _token(write) in zones:
            continue  # the token was used up
        raising[_token(write)].append(write)
    for fence in register.fences:
        raising[_token(fence)].append(fence)
    levels = [
        _level(token, zones.get(token, []), raising.get(token, []))
        for token in sorted(zones.keys() | raising.keys())
        if token >= initial
    ]
    return _Levels(levels=levels, logged=register.logged)


def _level(token: int, zones: list[Zone], raising: list[Op]) -> _Level:
    definite = bool(zones)
    if any(zone.write is None for zone in zones):
        return _Level(token=token, definite=definite, start=-math.inf, first=None)
    writes = [zone.write for zone in _possible_firsts(zones) if zone.write is not None]
    first = min(writes or raising, key=lambda op: op.called)
    start = min(op.called for op in (*writes, *raising))
    return _Level(token=token, definite=definite, start=start, first=first)


def _possible_firsts(zones: list[Zone]) -> list[Zone]:
    """The values of a level that can have been its first: none of the others surely came before."""
    logged = [zone for zone in zones if zone.places]
    if logged:
        return [min(logged, key=lambda zone: zone.places)]
    firsts = [
        zone for zone in zones if not any(other.surely_before(zone) for other in zones if other is not zone)
    ]
    return firsts or zones  # a flip-flop, which is told by itself


def _mark(register: Register, *, fences: bool) -> Mark:
    entries: list[tuple[float, float, tuple[Op, ...]]] = [
        (zone.settled, zone.token, zone.proof if zone.write else ()) for zone in register.zones
    ]
    if fences:
        entries.extend(_acknowledged_fences(register))
    return Mark(entries)


def _acknowledged_fences(register: Register) -> Iterator[tuple[float, float, tuple[Op, ...]]]:
    for fence in register.fences:
        if fence.returned is not None:
            yield fence.returned, _token(fence), (fence,)


def _is_of(zone: Zone, writes: AbstractSet[int]) -> bool:
    return zone.write is not None and zone.write.index in writes


def _indexes(conflicts: Iterable[Conflict]) -> set[int]:
    return {conflict.accused.index for conflict in conflicts}


def _token(op: Op) -> int:
    if op.token is None:
        raise ValueError(f"{op.f} at line {op.lines[0]} carries no token")
    return op.token

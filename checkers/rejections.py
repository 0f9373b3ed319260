"""Had each rejected write a cause, and does everything after it agree with that cause?

A fence refuses a token because of a newer one (strict: or an equal one) that it has
met. The accepted writes of a fenced storage stand in the order of their tokens, so
the mark passes through fixed *levels*. A level can be reached at its *start* at the
earliest: when something that raised the mark to it was called. With a commit log,
which has the order of all writes, a level cannot start before any of the writes that
stand before it in the log was called, either.

The cause of a rejection is the lowest level high enough that had started when the
rejection returned. A level that was certainly reached, but started later, hides
those above it. If there is no cause, the rejection was false. If there is one, the
mark had been there at the latest when the rejection returned, and nothing that was
called after that can have taken effect below it.

Where no fence is promised, tokens stand in no order and nothing hides anything: a
rejection is false iff nothing with a high enough token can have been accepted
before it returned.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate

from checkers.columnar.earliest import Earliest
from checkers.conflict import Conflict, Rule
from checkers.highwater import HighWater
from checkers.records import Op
from checkers.zones import Register, Zone, token_of, wrote


def of_fenced(
    register: Register,
    broken: AbstractSet[int],
    odd: AbstractSet[int],
    misplaced: AbstractSet[int] = frozenset(),
) -> Iterator[Conflict]:
    """Rejections without a cause, and what contradicts the cause that a rejection must have had.

    Args:
        register: of one resource.
        broken: stale writes, which say nothing certain of their level.
        odd: writes that say nothing certain of what came after them; `broken` are among them.
        misplaced: writes that came too late for their place in the log, which say nothing of others' starts.
    """
    if not register.rejected:
        return
    levels = _levels(register, broken, misplaced)
    caused: list[tuple[float, float, tuple[Op, ...]]] = []
    for rejected in register.rejected:
        cause = levels.cause(rejected, strict=register.strict)
        if isinstance(cause, Conflict):
            yield cause
        elif rejected.returned is not None and cause.lasts:
            caused.append((rejected.returned, cause.token, (rejected,)))
    yield from _against_causes(register, caused, odd)


def of_unfenced(register: Register, misplaced: AbstractSet[int] = frozenset()) -> Iterator[Conflict]:
    """Rejections by a storage that promises no fence, though it can have met no newer token."""
    if not register.rejected:
        return
    starts = _starts(register, misplaced)
    possible = [(zone.token, _start(zone, starts)) for zone in register.zones]
    possible += [(token_of(op), op.called) for op in (*register.optional, *register.fences)]
    possible.sort()
    ever = list(accumulate((start for _, start in reversed(possible)), min))[::-1]
    for rejected in register.rejected:
        place = bisect_left(possible, (_least(rejected, strict=register.strict), -math.inf))
        if place == len(possible) or ever[place] > _returned(rejected):
            yield _uncaused(rejected)


def _against_causes(
    register: Register, caused: Iterable[tuple[float, float, tuple[Op, ...]]], odd: AbstractSet[int]
) -> Iterator[Conflict]:
    """What was called after a rejection had returned that proves a newer token, and carries an older."""
    caused = list(caused)
    mark = HighWater(caused)
    read_mark = HighWater([] if register.fences else caused)  # a fence may have caused it: no value then
    for zone in register.zones:
        if wrote(zone, odd):
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
    lasts: bool = True  # False: something that the log lacks may have raised it, and that may be lost


class _Levels:
    """The levels of a register, lowest first."""

    def __init__(self, levels: Sequence[_Level], *, logged: bool) -> None:
        self._levels = levels
        self._logged = logged  # they came in this order for certain
        self._tokens = [level.token for level in levels]
        self._starts = Earliest([level.start for level in levels])
        self._next_definite = _next_definite(levels)

    def cause(self, rejected: Op, *, strict: bool) -> _Level | Conflict:
        """The lowest level that can have caused a rejection, or the conflict if there is none.

        A definite level that came too late hides those above it, which come
        later still, which the log knows. Without a log, if one of those can have
        been there all the same, then either it was, and the definite one is
        stale, or the rejection is false.
        """
        place = bisect_left(self._tokens, _least(rejected, strict=strict))
        in_time = self._starts.first(place, _returned(rejected))
        if in_time is None:
            return _uncaused(rejected)
        hides = self._next_definite[place]
        if in_time <= hides:
            return self._levels[in_time]
        first = self._levels[hides].first
        if self._logged or first is None:
            return _uncaused(rejected)
        return Conflict(
            anomaly="non-linearizable", rule=Rule.FALSE_OR_STALE, accused=first, because=(rejected,)
        )


def _next_definite(levels: Sequence[_Level]) -> list[int]:
    """For each level, the place of the first definite one from there on; their number if there is none."""
    places = [place if level.definite else len(levels) for place, level in enumerate(levels)]
    return list(accumulate(reversed(places), min))[::-1]


def _levels(register: Register, broken: AbstractSet[int], misplaced: AbstractSet[int]) -> _Levels:
    zones: dict[int, list[Zone]] = defaultdict(list)
    raising: dict[int, list[Op]] = defaultdict(list)  # what may have raised the mark, for a while
    for zone in register.zones:
        if zone.write is not None and register.logged and not zone.places:
            raising[zone.token].append(zone.write)  # it was read, and the log has it no more
        elif not wrote(zone, broken):
            zones[zone.token].append(zone)
    for write in register.optional:
        used_up = register.strict and not register.logged and token_of(write) in zones
        if not used_up:
            raising[token_of(write)].append(write)
    for fence in register.fences:
        raising[token_of(fence)].append(fence)
    starts = _starts(register, misplaced)
    levels = [
        _level(token, zones.get(token, []), raising.get(token, []), starts, logged=register.logged)
        for token in sorted(zones.keys() | raising.keys())
        if token >= register.initial_token
    ]
    return _Levels(levels, logged=register.logged)


def _level(
    token: int, zones: Sequence[Zone], raising: Sequence[Op], starts: Mapping[int, float], *, logged: bool
) -> _Level:
    definite = bool(zones)
    if any(zone.write is None for zone in zones):
        return _Level(token=token, definite=definite, start=-math.inf, first=None)
    firsts = _possible_firsts(zones)
    writes = [zone.write for zone in firsts if zone.write is not None]
    return _Level(
        token=token,
        definite=definite,
        start=min((*(_start(zone, starts) for zone in firsts), *(op.called for op in raising))),
        first=min(writes or raising, key=lambda op: op.called),
        lasts=not logged or all(op.f == "fence" for op in raising),
    )


def _possible_firsts(zones: Sequence[Zone]) -> Sequence[Zone]:
    """The values of a level that can have been its first: none of the others surely came before."""
    logged = [zone for zone in zones if zone.places]
    if logged:
        return [min(logged, key=lambda zone: zone.places)]
    two = sorted(zones, key=lambda zone: zone.settled)[:2]
    firsts = [zone for zone in zones if not any(each.surely_before(zone) for each in two if each is not zone)]
    return firsts or zones  # a flip-flop, which is told by itself


def _start(zone: Zone, starts: Mapping[int, float]) -> float:
    """When a value can have been there at the earliest."""
    if zone.write is None:
        return -math.inf
    return starts.get(zone.write.index, zone.write.called)


def _starts(register: Register, misplaced: AbstractSet[int]) -> dict[int, float]:
    """When each logged write can have taken effect at the earliest: after those before it were called.

    By the write's index in the history; nothing without a log.
    """
    logged = sorted((zone for zone in register.all_zones if zone.places), key=lambda zone: zone.places)
    starts: dict[int, float] = {}
    latest = -math.inf
    for zone in logged:
        if zone.write is None:
            continue
        starts[zone.write.index] = max(latest, zone.write.called)
        if zone.write.index not in misplaced:
            latest = max(latest, zone.write.called)
    return starts


def _uncaused(rejected: Op) -> Conflict:
    return Conflict(anomaly="false-rejection", rule=Rule.NO_CAUSE, accused=rejected)


def _least(rejected: Op, *, strict: bool) -> int:
    """The least mark at which a fence refuses this write."""
    return token_of(rejected) if strict else token_of(rejected) + 1


def _returned(op: Op) -> float:
    return math.inf if op.returned is None else op.returned

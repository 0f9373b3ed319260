"""Had each rejected write a cause, and does everything after it agree with that cause?

A fence refuses a token because of a newer one (strict: or an equal one) that it has
met. The accepted writes of a fenced storage are in the order of their tokens, so
the mark passes through fixed *levels*. A level can be reached at its *start* at the
earliest: when something that raised the mark to it was called.

The cause of a rejection is the lowest level high enough that had started when the
rejection returned. A level that was certainly reached, but started later, hides
those above it. If there is no cause, the rejection was false. If there is one, the
mark had been there at the latest when the rejection returned, and nothing that was
called after that can have taken effect below it.

If no fence is promised, tokens have no order and nothing hides anything: a
rejection is false iff nothing with a high enough token can have been accepted
before it returned.

With a commit log the mark is known at each place, whichever client raised it. The cause is the first
place with a mark high enough, and the log can have got there once all that stands up to there
had been called. What the log lacks may be the cause only if it may have been there for a
while: an acknowledged write, what has no answer and a restart of the storage may have undone, and a
fence where the log has none. What the log has, no restart has undone.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import accumulate

from checkers.explain.conflict import Conflict
from checkers.facts.clusters import Zone, token_of
from checkers.facts.high_water import HighWater
from checkers.history.faults import Faults
from checkers.history.records import WRITES, Op, Outcome
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from checkers.rules.rejections import NO_CAUSE
from tests.support.operations.earliest import Earliest
from tests.support.operations.order import LogOrder
from tests.support.operations.registers import Register, wrote


def of_fenced(register: Register, broken: AbstractSet[int], odd: AbstractSet[int]) -> Iterator[Conflict]:
    """Rejections without a cause, and what contradicts the cause that a rejection must have had.

    Args:
        register: of one resource, without a commit log.
        broken: stale writes, which say nothing certain of their level.
        odd: writes that say nothing certain of what came after them; `broken` are among them.
    """
    if not register.rejected:
        return
    levels = _levels(register, broken)
    caused: list[tuple[float, float, tuple[Op, ...]]] = []
    for rejected in register.rejected:
        cause = levels.cause(rejected, strict=register.strict)
        if isinstance(cause, Conflict):
            yield cause
        elif rejected.returned is not None:
            caused.append((rejected.returned, cause.token, (rejected,)))
    yield from _against_causes(register, caused, odd)


def of_logged(register: Register, order: LogOrder, restarts: Faults, *, fenced: bool) -> Iterator[Conflict]:
    """Rejections that the log does not explain, and what contradicts the place that explains one."""
    if not register.rejected:
        return
    earliest = _Possible((token_of(op), op.called) for op in unlogged(register, order, restarts))
    causes: list[tuple[int, int]] = []
    for rejected in register.rejected:
        least, returned = _least(rejected, strict=register.strict), _returned(rejected)
        place = order.place_of_mark(least)
        by_another = earliest.call(least) <= returned
        if place is not None and order.start(place) <= returned:
            if not by_another:
                causes.append((rejected.index, place))
        elif not by_another:
            yield _uncaused(rejected)
    if fenced:
        yield from order.contradictions(causes)


def unlogged(register: Register, order: LogOrder, restarts: Faults) -> Iterator[Op]:
    """What the log lacks, and may have raised the mark for a while."""
    yield from (zone.write for zone in register.written if zone.write is not None and not zone.places)
    yield from register.optional
    for op in order.operations:
        is_info = op.f in WRITES and op.outcome is Outcome.INFO and op.token is not None
        if is_info and op.index not in order.logged and restarts.first_between(op.called, math.inf):
            yield op
    for fence in register.fences:
        if not order.has_fences:
            yield fence
        elif fence.outcome is Outcome.OK:
            if order.was_fenced(fence) is None:
                yield fence
        elif restarts.first_between(fence.called, math.inf):
            others = (each for each in register.fences if each is not fence)
            if fence.index not in order.logged or any(each.token == fence.token for each in others):
                yield fence


class _Possible:
    """When something with a token or a higher one can have been accepted at the earliest."""

    def __init__(self, calls: Iterable[tuple[int, float]]) -> None:
        ordered = sorted(calls)
        self._tokens = [token for token, _ in ordered]
        self._ever = list(accumulate((called for _, called in reversed(ordered)), min))[::-1]

    def call(self, least: int) -> float:
        """The first call with a token of `least` or more, in ns; infinity if there is none."""
        place = bisect_left(self._tokens, least)
        return self._ever[place] if place < len(self._ever) else math.inf


def of_unfenced(register: Register) -> Iterator[Conflict]:
    """Rejections by a storage that promises no fence, though it can have met no newer token."""
    if not register.rejected:
        return
    possible = [(zone.token, _start(zone)) for zone in register.zones]
    raising = ((token_of(op), op.called) for op in (*register.optional, *register.fences))
    earliest = _Possible([*possible, *raising])
    for rejected in register.rejected:
        if earliest.call(_least(rejected, strict=register.strict)) > _returned(rejected):
            yield _uncaused(rejected)


def _against_causes(
    register: Register, caused: Iterable[tuple[float, float, tuple[Op, ...]]], odd: AbstractSet[int]
) -> Iterator[Conflict]:
    """What was called after a rejection had returned that proves a newer token, and carries an older.

    A rejection that a fence may have caused proves a newer token, and no newer value.
    """
    caused = list(caused)
    fences = _Possible((token_of(fence), fence.called) for fence in register.fences)
    mark = HighWater(caused)
    read_mark = HighWater(
        each for each in caused if fences.call(_least(each[2][0], strict=register.strict)) > each[0]
    )
    for zone in register.zones:
        if wrote(zone, odd):
            continue
        marks: list[tuple[Op | None, HighWater[tuple[Op, ...]]]] = [(zone.write, mark)]
        for op, by in (*marks, *((read, read_mark) for read in zone.reads)):
            found = None if op is None else by.before(op.called)
            if op is not None and found is not None and found[0] > zone.token:
                yield Conflict(
                    anomaly="non-linearizable",
                    breach=FALSE_OR_STALE,
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


class _Levels:
    """The levels of a register, lowest first."""

    def __init__(self, levels: Sequence[_Level]) -> None:
        self._levels = levels
        self._tokens = [level.token for level in levels]
        self._starts = Earliest([level.start for level in levels])
        self._next_definite = _next_definite(levels)

    def cause(self, rejected: Op, *, strict: bool) -> _Level | Conflict:
        """The lowest level that can have caused a rejection, or the conflict if there is none.

        A definite level that came too late hides those above it, which come
        later still. If one of those can have been there all the same, then either
        it was, and the definite one is stale, or the rejection is false.
        """
        place = bisect_left(self._tokens, _least(rejected, strict=strict))
        in_time = self._starts.first(place, _returned(rejected))
        if in_time is None:
            return _uncaused(rejected)
        hides = self._next_definite[place]
        if in_time <= hides:
            return self._levels[in_time]
        first = self._levels[hides].first
        if first is None:
            return _uncaused(rejected)
        return Conflict(anomaly="non-linearizable", breach=FALSE_OR_STALE, accused=first, because=(rejected,))


def _next_definite(levels: Sequence[_Level]) -> list[int]:
    """For each level, the place of the first definite one from there on; their number if there is none."""
    places = [place if level.definite else len(levels) for place, level in enumerate(levels)]
    return list(accumulate(reversed(places), min))[::-1]


def _levels(register: Register, broken: AbstractSet[int]) -> _Levels:
    zones: dict[int, list[Zone]] = defaultdict(list)
    raising: dict[int, list[Op]] = defaultdict(list)  # what may have raised the mark, for a while
    for zone in register.zones:
        if not wrote(zone, broken):
            zones[zone.token].append(zone)
    for write in register.optional:
        used_up = register.strict and token_of(write) in zones
        if not used_up:
            raising[token_of(write)].append(write)
    for fence in register.fences:
        raising[token_of(fence)].append(fence)
    levels = [
        _level(token, zones.get(token, []), raising.get(token, []))
        for token in sorted(zones.keys() | raising.keys())
        if token >= register.initial_token
    ]
    return _Levels(levels)


def _level(token: int, zones: Sequence[Zone], raising: Sequence[Op]) -> _Level:
    definite = bool(zones)
    if any(zone.write is None for zone in zones):
        return _Level(token=token, definite=definite, start=-math.inf, first=None)
    firsts = _possible_firsts(zones)
    writes = [zone.write for zone in firsts if zone.write is not None]
    return _Level(
        token=token,
        definite=definite,
        start=min(op.called for op in (*writes, *raising)),
        first=min(writes or raising, key=lambda op: op.called),
    )


def _possible_firsts(zones: Sequence[Zone]) -> Sequence[Zone]:
    """The values of a level that can have been its first: none of the others surely came before."""
    two = sorted(zones, key=lambda zone: zone.settled)[:2]
    firsts = [zone for zone in zones if not any(each.surely_before(zone) for each in two if each is not zone)]
    return firsts or zones  # a flip-flop, which another rule reports


def _start(zone: Zone) -> float:
    """When a value can have been there at the earliest."""
    return -math.inf if zone.write is None else zone.write.called


def _uncaused(rejected: Op) -> Conflict:
    return Conflict(anomaly="false-rejection", breach=NO_CAUSE, accused=rejected)


def _least(rejected: Op, *, strict: bool) -> int:
    """The least mark at which a fence refuses this write."""
    return token_of(rejected) if strict else token_of(rejected) + 1


def _returned(op: Op) -> float:
    return math.inf if op.returned is None else op.returned

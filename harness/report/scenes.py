"""Scenes: the stretch of a run that a finding needs to be understood, and who plays in it.

A run without findings still has something to show: the stale writes that the
fence turned away.
"""

from __future__ import annotations

import bisect
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from checkers.history import FaultEvent, Op, Outcome
from harness.report.bands import Band
from harness.report.holds import Hold, end_of
from harness.report.lanes import Lanes
from harness.report.timeline import Timeline
from harness.report.window import opening

REJECTED = "stale write rejected"  # no anomaly: the fence at work
_WRITES = {"write", "append", "fence"}
_EDGE = 0.06  # of the window, on either side
_MOST_LANES = 12
_MOST_EXAMPLES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What to show for one finding. Times in ns."""

    anomaly: str
    resource: str
    summary: str
    steps: tuple[str, ...]
    proof: tuple[int, ...]  # indices of the operations that prove it, by time
    stale: int | None  # index of the write that came too late
    newer: int | None  # index of the write with the higher token that it came after
    start: int
    end: int
    cause: Band | None  # the fault that opened the window
    lanes: tuple[int, ...]  # who had to do with it, from the top


def findings(
    documents: Sequence[Mapping[str, Any]],
    timeline: Timeline,
    lanes: Lanes,
    faults: Sequence[FaultEvent],
) -> tuple[Scene, ...]:
    """A scene for each finding of a verdict."""
    by_line = {line: op for op in timeline.operations for line in op.lines}
    order = {
        write.operation: position
        for position, write in enumerate(timeline.accepted)
        if write.operation is not None
    }
    claims = (_finding(document, by_line, order) for document in documents)
    return tuple(_staged(claim, timeline, lanes, faults) for claim in claims)


def _finding(
    document: Mapping[str, Any],
    by_line: Mapping[int, Op],
    order: Mapping[int, int],
) -> _Claim:
    lines = (line for line in document.get("operations", ()) if line in by_line)
    operations = {by_line[line].index: by_line[line] for line in lines}
    proof = sorted(operations.values(), key=lambda op: (op.called, op.index))
    anomaly = str(document.get("anomaly", ""))
    newer, stale = _collision(proof, order) if anomaly == "stale-write" else (None, None)
    return _Claim(
        anomaly=anomaly,
        resource=str(document.get("resource", "")),
        summary=str(document.get("summary", "")),
        steps=tuple(str(step) for step in document.get("steps", ())),
        proof=tuple(proof),
        newer=newer,
        stale=stale,
    )


def _collision(proof: Sequence[Op], order: Mapping[int, int]) -> tuple[Op | None, Op | None]:
    """The write with the newer token, and the one with the older token that stands after it."""
    writes = [op for op in proof if op.f in _WRITES and op.token is not None]
    if not writes:
        return None, None
    stale = min(
        writes,
        key=lambda op: (_token(op), -order.get(op.index, op.called)),
    )
    others = [op for op in writes if op is not stale]
    return max(others, key=_token, default=None), stale


def rejections(timeline: Timeline, lanes: Lanes, faults: Sequence[FaultEvent]) -> tuple[Scene, ...]:
    """The first stale writes that were turned away, each with the newer write that came before it."""
    claims = itertools.islice(_rejections(timeline, lanes), _MOST_EXAMPLES)
    return tuple(_staged(claim, timeline, lanes, faults) for claim in claims)


def _rejections(timeline: Timeline, lanes: Lanes) -> Iterator[_Claim]:
    levels = _levels(timeline.operations)
    for write in timeline.operations:
        if write.f in _WRITES and write.outcome is Outcome.FAIL and write.error == "stale":
            newer = _newer(levels[write.resource], write)
            if newer is not None:
                yield _rejection(write, newer, lanes)


def _levels(operations: Sequence[Op]) -> defaultdict[str, list[Op]]:
    """The accepted writes of each resource that raised its highest token, by call."""
    levels: defaultdict[str, list[Op]] = defaultdict(list)
    for write in operations:
        if write.f in _WRITES and write.outcome is Outcome.OK and write.token is not None:
            raised = levels[write.resource]
            if not raised or write.token > _token(raised[-1]):
                raised.append(write)
    return levels


def _newer(levels: Sequence[Op], write: Op) -> Op | None:
    """The first accepted write with a higher token, if it can have caused this rejection."""
    position = bisect.bisect_right(levels, _token(write), key=_token)
    if position == len(levels) or levels[position].called > end_of(write):
        return None
    return levels[position]


def _token(write: Op) -> int:
    return -1 if write.token is None else write.token


def _rejection(write: Op, newer: Op, lanes: Lanes) -> _Claim:
    late, early = (lanes.names[lanes.lane(op.process)].capitalize() for op in (write, newer))
    return _Claim(
        anomaly=REJECTED,
        resource=write.resource,
        summary=(
            f"{late} wrote to {write.resource} with token {write.token} after {early.lower()} "
            f"had written with token {newer.token}: the storage refused it, as it must."
        ),
        steps=(
            f"{early} held the lock with token {newer.token}, and its write was accepted.",
            f"{late} then sent a write with the older token {write.token}.",
            f"The storage had already seen token {newer.token} and refused the write as stale.",
        ),
        proof=tuple(sorted((newer, write), key=lambda op: (op.called, op.index))),
        newer=newer,
        stale=write,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What is said to have happened, and the operations that show it."""

    anomaly: str
    resource: str
    summary: str
    steps: tuple[str, ...]
    proof: tuple[Op, ...]
    newer: Op | None
    stale: Op | None


def _staged(claim: _Claim, timeline: Timeline, lanes: Lanes, faults: Sequence[FaultEvent]) -> Scene:
    """A claim with the stretch of time and the clients that it takes to see it."""
    proof = claim.proof
    involved = _involved(proof, timeline.holds, lanes)
    hits = _hits(involved, proof, timeline.bands)
    cause = _cause(claim, involved, timeline.bands, faults)
    moments = [moment for op in proof for moment in (_from(op), end_of(op))]
    moments += [hold.granted for hold in involved]
    moments += [band.start for band in (*hits, *([cause] if cause else ()))]
    start, end = min(moments, default=timeline.start), max(moments, default=timeline.end)
    edge = max(int((end - start) * _EDGE), 20_000_000)
    return Scene(
        anomaly=claim.anomaly,
        resource=claim.resource,
        summary=claim.summary,
        steps=claim.steps,
        proof=tuple(op.index for op in proof),
        stale=None if claim.stale is None else claim.stale.index,
        newer=None if claim.newer is None else claim.newer.index,
        start=max(timeline.start, start - edge),
        end=min(timeline.end, end + edge),
        cause=cause,
        lanes=_cast(proof, involved, lanes),
    )


def _from(op: Op) -> int:
    """An acquire matters from its grant on: it may have waited for long."""
    return end_of(op) if op.f == "acquire" else op.called


def _involved(
    proof: Sequence[Op], holds: Mapping[tuple[str, int | None], Sequence[Hold]], lanes: Lanes
) -> list[Hold]:
    """The holds under which the operations of a proof were done."""
    found: dict[int, Hold] = {}
    for op in proof:
        for hold in holds.get((op.resource, op.token), ()):
            if hold.lane == lanes.lane(op.process):
                found[hold.grant] = hold
    return list(found.values())


def _hits(involved: Sequence[Hold], proof: Sequence[Op], bands: Sequence[Band]) -> list[Band]:
    """Faults that hit a client of the proof while it believed in its hold."""
    last = max((end_of(op) for op in proof), default=0)
    return [
        band
        for band in bands
        for hold in involved
        if band.lane == hold.lane
        and hold.granted <= band.start <= min(last, hold.believed_until)
        and (band.owner is None or band.owner == hold.owner)
    ]


def _cause(
    claim: _Claim, involved: Sequence[Hold], bands: Sequence[Band], faults: Sequence[FaultEvent]
) -> Band | None:
    """The fault that opened the window, as the console tells it too."""
    oldest = min(involved, key=lambda hold: (hold.token is None, hold.token), default=None)
    begun = opening(claim.anomaly, claim.proof, oldest.owner if oldest else None, faults)
    same = (band for band in bands if begun and (band.target, band.start) == (begun.target, begun.time))
    return next(same, None)


def _cast(proof: Sequence[Op], involved: Sequence[Hold], lanes: Lanes) -> tuple[int, ...]:
    """The lanes of those who had to do with it."""
    seen = [hold.lane for hold in involved] + [lanes.lane(op.process) for op in proof]
    return tuple(sorted(dict.fromkeys(seen).keys())[:_MOST_LANES])

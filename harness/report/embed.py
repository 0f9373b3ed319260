"""What a report carries for its drawings: columns of small numbers, times in µs from the first event.

Values of a history are hostile here: they are whatever a service answered. They
only ever travel as JSON inside an inert script element, escaped so that they
cannot end it, and reach the page as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from checkers.history import Op, Outcome, Value
from checkers.printable import shorten
from harness.report.bands import Band
from harness.report.holds import Hold, end_of
from harness.report.lanes import Lanes
from harness.report.placing import Accepted
from harness.report.scenes import Scene
from harness.report.timeline import Timeline

MOST_OPERATIONS = 100_000
_MOST_ELEMENTS = 20  # of a list
OK, REJECTED, FAILED, UNKNOWN = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The operations that a report carries, and how many it had to leave out."""

    operations: tuple[Op, ...]
    left_out: int


def keep(timeline: Timeline, scenes: Iterable[Scene], most: int = MOST_OPERATIONS) -> Kept:
    """Everything, or what the scenes need in full and an even sample of the rest."""
    operations = timeline.operations
    if len(operations) <= most:
        return Kept(operations=operations, left_out=0)
    chosen: set[int] = set()
    for scene in scenes:
        chosen.update(scene.proof)
        inside = [op.index for op in timeline.within(scene.start, scene.end)]
        if len(chosen) + len(inside) <= most:
            chosen.update(inside)
    others = [op for op in operations if op.index not in chosen]
    stride = -(-len(others) // max(1, most - len(chosen)))
    chosen.update(op.index for op in others[::stride])
    kept = tuple(op for op in operations if op.index in chosen)
    return Kept(operations=kept, left_out=len(operations) - len(kept))


def drawing(timeline: Timeline, scenes: Sequence[Scene], lanes: Lanes, kept: Kept) -> dict[str, Any]:
    """The swimlane's data."""
    operations = _shown(kept.operations, timeline, scenes)
    position = {op.index: place for place, op in enumerate(operations)}
    names = {op.resource for op in operations}
    resources = sorted(names | {scene.resource for scene in scenes})
    scale = _Scale(timeline.start, {name: place for place, name in enumerate(resources)}, position)
    held = (hold for group in timeline.holds.values() for hold in group if hold.grant in position)
    stored = [write for write in timeline.accepted if write.operation is None or write.operation in position]
    return {
        "length": scale.time(timeline.end),
        "lanes": lanes.names,
        "resources": [shorten(name) for name in resources],
        "operations": _operations(operations, lanes, scale),
        "holds": sorted(_hold(hold, scale) for hold in held),
        "bands": [_band(band, scale) for band in timeline.bands],
        "accepted": _accepted(stored, scale),
        "ordered": any(write.seq is not None for write in stored),
        "scenes": [_scene(scene, scale) for scene in scenes],
    }


def _shown(operations: Sequence[Op], timeline: Timeline, scenes: Sequence[Scene]) -> tuple[Op, ...]:
    """Leave out the renewals of clients that wait: their lease is no hold yet, and would look like one."""
    granted: dict[tuple[str, str | None], int] = {}
    for hold in (hold for group in timeline.holds.values() for hold in group):
        key = hold.resource, hold.owner
        granted[key] = min(hold.granted, granted.get(key, hold.granted))
    proof = {index for scene in scenes for index in scene.proof}
    return tuple(
        op
        for op in operations
        if op.f != "renew"
        or op.index in proof
        or op.called >= granted.get((op.resource, op.owner), op.called + 1)
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """How moments, resources and operations are written down."""

    start: int
    resources: dict[str, int]
    positions: dict[int, int]

    def time(self, moment: int) -> int:
        return max(0, moment - self.start) // 1_000

    def position(self, index: int | None) -> int:
        return -1 if index is None else self.positions.get(index, -1)


def _operations(operations: Sequence[Op], lanes: Lanes, scale: _Scale) -> dict[str, list[Any]]:
    kinds = sorted({op.f for op in operations})
    kind = {name: place for place, name in enumerate(kinds)}
    return {
        "kinds": kinds,
        "kind": [kind[op.f] for op in operations],
        "lane": [lanes.lane(op.process) for op in operations],
        "process": [op.process for op in operations],
        "resource": [scale.resources[op.resource] for op in operations],
        "outcome": [_outcome(op) for op in operations],
        "from": [scale.time(op.called) for op in operations],
        "to": [scale.time(end_of(op)) for op in operations],
        "token": [op.token for op in operations],
        "value": [_content(op.value) for op in operations],
        "error": [None if op.error is None else shorten(op.error) for op in operations],
        "call": [op.lines[0] if op.lines else 0 for op in operations],
        "answer": [op.lines[1] if len(op.lines) > 1 else 0 for op in operations],
    }


def _outcome(op: Op) -> int:
    if op.outcome is Outcome.OK:
        return OK
    if op.outcome is Outcome.INFO:
        return UNKNOWN
    return REJECTED if op.error == "stale" else FAILED


def _hold(hold: Hold, scale: _Scale) -> list[Any]:
    return [
        scale.time(hold.granted),
        hold.lane,
        scale.resources[hold.resource],
        scale.time(hold.leased_until),
        scale.time(hold.believed_until),
        -1 if hold.promised is None else scale.time(hold.promised),
        -1 if hold.token is None else hold.token,
        hold.renewals,
        shorten(hold.owner or ""),
    ]


def _content(value: Value) -> str | int | None:
    """What is shown of a value: of a list, the elements that were appended last."""
    if isinstance(value, tuple):
        before = ["…"] * (len(value) > _MOST_ELEMENTS)
        return shorten(", ".join([*before, *map(str, value[-_MOST_ELEMENTS:])]))
    return shorten(value) if isinstance(value, str) else value


def _band(band: Band, scale: _Scale) -> dict[str, Any]:
    return {
        "kind": band.kind,
        "target": shorten(band.target),
        "lane": band.lane,
        "from": scale.time(band.start),
        "to": None if band.end is None else scale.time(band.end),
        "evidence": shorten(band.evidence),
        "healed": shorten(band.healed_evidence),
    }


def _accepted(stored: Sequence[Accepted], scale: _Scale) -> dict[str, list[Any]]:
    return {
        "at": [scale.time(write.at) for write in stored],
        "earliest": [scale.time(write.earliest) for write in stored],
        "latest": [scale.time(write.latest) for write in stored],
        "seq": [write.seq for write in stored],
        "resource": [scale.resources.get(write.resource, -1) for write in stored],
        "token": [write.token for write in stored],
        "value": [_content(write.value) for write in stored],
        "operation": [scale.position(write.operation) for write in stored],
    }


def _scene(scene: Scene, scale: _Scale) -> dict[str, Any]:
    return {
        "anomaly": scene.anomaly,
        "resource": scale.resources[scene.resource],
        "from": scale.time(scene.start),
        "to": scale.time(scene.end),
        "proof": [scale.position(index) for index in scene.proof],
        "stale": scale.position(scene.stale),
        "newer": scale.position(scene.newer),
        "lanes": scene.lanes,
    }


def script_safe(document: object) -> str:
    """JSON that cannot end the script element that it stands in, nor start markup in it."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")

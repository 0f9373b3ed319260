"""What a report carries for its drawings: columns, times in ticks from the first event.

A tick is a nanosecond, or as many as it takes for a browser's numbers (exact up to
2^53) to hold the run. Tokens and values are strings: a browser would round them.

Values of a history are hostile here: they are whatever a service answered. They
only ever travel as JSON inside an inert script element, escaped so that they
cannot end it, and reach the page as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.history.columns import Ints
from checkers.history.reader import Op, Outcome, Value
from checkers.printable import shorten
from harness.report.bands import Band
from harness.report.commit_times import Accepted
from harness.report.holds import Hold, end_of
from harness.report.lanes import Lanes
from harness.report.scenes import Scene, Span
from harness.report.step_references import label, numbered
from harness.report.timeline import Timeline

MOST_OPERATIONS = 100_000
MOST_BYTES = 6_000_000  # of a drawing's data: a page stays well under 10 MB
MOST_BANDS = 2_000
_MOST_ELEMENTS = 20  # of a list
EXACT = 2**53  # the first whole number that a browser's may be rounded from
OK, REJECTED, FAILED, UNKNOWN = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The operations that a report carries, and how many it had to leave out."""

    operations: Sequence[Op]
    left_out: int


def keep(timeline: Timeline, scenes: Iterable[Scene], most: int = MOST_OPERATIONS) -> Kept:
    """Everything, or what the scenes need in full and an even sample of the rest."""
    operations = timeline.operations
    if len(operations) <= most:
        return Kept(operations=operations, left_out=0)
    chosen = np.zeros(len(operations), dtype=np.bool_)
    for scene in scenes:
        chosen[list(_needed(scene))] = True
        inside = timeline.rows_within(scene.start, scene.end)
        if np.count_nonzero(chosen) + len(inside) <= most:
            chosen[inside] = True
    others = np.flatnonzero(~chosen)
    stride = -(-len(others) // max(1, most - int(np.count_nonzero(chosen))))
    chosen[others[::stride]] = True
    kept = tuple(operations.at(np.flatnonzero(chosen)))
    return Kept(operations=kept, left_out=len(operations) - len(kept))


def fitted(
    timeline: Timeline, scenes: Sequence[Scene], lanes: Lanes, most_bytes: int = MOST_BYTES
) -> tuple[dict[str, Any], Kept]:
    """The swimlane's data, with as many operations as a page can carry."""
    most = MOST_OPERATIONS
    while True:
        kept = keep(timeline, scenes, most)
        document = drawing(timeline, scenes, lanes, kept)
        if most <= 1 or len(script_safe(document)) <= most_bytes:
            return document, kept
        most = min(most, len(kept.operations)) // 2


def drawing(timeline: Timeline, scenes: Sequence[Scene], lanes: Lanes, kept: Kept) -> dict[str, Any]:
    """The swimlane's data."""
    operations = _shown(kept.operations, timeline, scenes)
    shown = np.array([op.index for op in operations], dtype=np.int64)
    held = timeline.holds.among(shown)
    bands = _bands(timeline, scenes)
    names = {op.resource for op in operations} | {scene.resource for scene in scenes}
    resources = sorted(names)
    played = {lanes.lane(op.process) for op in operations} | {
        lane for scene in scenes for lane in scene.lanes
    }
    rows = sorted(played | {band.lane for band in bands.values() if band.lane is not None})
    servers = sorted({band.target for band in bands.values() if band.lane is None})
    accepted = _stored(timeline, scenes, shown)
    scale = _Scale(
        start=timeline.start,
        tick=1 + (timeline.end - timeline.start) // EXACT,
        resources={name: place for place, name in enumerate(resources)},
        operations={op.index: place for place, op in enumerate(operations)},
        lanes={lane: place for place, lane in enumerate(rows)},
        servers={name: place for place, name in enumerate(servers)},
        bands={number: place for place, number in enumerate(bands)},
        accepted={number: place for place, number in enumerate(accepted)},
    )
    stored = list(accepted.values())
    return {
        "tick": scale.tick,
        "length": scale.time(timeline.end),
        "complete": not kept.left_out,
        "lanes": [lanes.names[lane] for lane in rows],
        "servers": [shorten(name) for name in servers],
        "resources": [shorten(name) for name in resources],
        "operations": _operations(operations, lanes, scale),
        "holds": sorted((_hold(hold, scale) for hold in held), key=lambda hold: hold[0]),
        "bands": [_band(band, scale) for band in bands.values()],
        "accepted": _accepted(stored, scale),
        "ordered": any(write.seq is not None for write in stored),
        "scenes": [_scene(scene, scale) for scene in scenes],
    }


def _bands(timeline: Timeline, scenes: Sequence[Scene]) -> dict[int, Band]:
    """The faults to draw, by their numbers: those of the scenes, and as many others as there is room for."""
    causes = {scene.cause for scene in scenes}
    wanted = {number for scene in scenes for mention in scene.mentions for number in mention.bands}
    wanted.update(number for number, band in enumerate(timeline.bands) if band in causes)
    rest = [number for number in range(len(timeline.bands)) if number not in wanted]
    stride = -(-len(rest) // max(1, MOST_BANDS - len(wanted)))
    chosen = sorted(wanted.union(rest[:: max(1, stride)]))
    return {number: timeline.bands[number] for number in chosen}


def _stored(timeline: Timeline, scenes: Sequence[Scene], shown: Ints) -> dict[int, Accepted]:
    """The accepted writes to draw, by their places; of those that nobody sent, an even sample."""
    wanted = {place for scene in scenes for place in scene.strays}
    strays = [place for place in timeline.accepted.strays().tolist() if place not in wanted]
    wanted.update(strays[:: 1 + len(strays) // MOST_BANDS])
    drawn = np.flatnonzero(np.isin(timeline.accepted.operation, shown)).tolist()
    places = sorted(wanted.union(drawn))
    return dict(zip(places, timeline.accepted.take(places), strict=True))


def _shown(operations: Sequence[Op], timeline: Timeline, scenes: Sequence[Scene]) -> tuple[Op, ...]:
    """Leave out the renewals of clients that wait: their lease is no hold yet, and would look like one."""
    waited = timeline.holds.renewed_while_waiting()
    proof = {index for scene in scenes for index in _needed(scene)}
    return tuple(op for op in operations if op.f != "renew" or op.index in proof or not waited[op.index])


def _needed(scene: Scene) -> set[int]:
    """The operations without which a scene cannot be drawn."""
    return {
        *scene.proof,
        *scene.holds,
        *(index for mention in scene.mentions for index in mention.operations),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """How moments, resources, operations and the rest are written down: by their places."""

    start: int
    tick: int  # ns
    resources: Mapping[str, int]
    operations: Mapping[int, int]
    lanes: Mapping[int, int]
    servers: Mapping[str, int]
    bands: Mapping[int, int]
    accepted: Mapping[int, int]

    def time(self, moment: int) -> int:
        return max(0, moment - self.start) // self.tick

    def positions(self, indexes: Iterable[int | None]) -> list[int]:
        return [self.operations[index] for index in indexes if index is not None and index in self.operations]


def _text(value: Value) -> str | None:
    """A value or token as a browser can carry it: never as a number, which it would round."""
    if value is None:
        return None
    if isinstance(value, int) and abs(value) < EXACT:  # the most frequent by far; short, and only digits
        return str(value)
    if isinstance(value, tuple):
        before = ["…"] * (len(value) > _MOST_ELEMENTS)
        return shorten(", ".join([*before, *map(str, value[-_MOST_ELEMENTS:])]))
    return shorten(str(value))


def _operations(operations: Sequence[Op], lanes: Lanes, scale: _Scale) -> dict[str, list[Any]]:
    kinds = sorted({op.f for op in operations})
    kind = {name: place for place, name in enumerate(kinds)}
    return {
        "kinds": kinds,
        "kind": [kind[op.f] for op in operations],
        "lane": [scale.lanes[lanes.lane(op.process)] for op in operations],
        "process": [str(op.process) for op in operations],
        "resource": [scale.resources[op.resource] for op in operations],
        "outcome": [_outcome(op) for op in operations],
        "from": [scale.time(op.called) for op in operations],
        "to": [scale.time(end_of(op)) for op in operations],
        "token": [_text(op.token) for op in operations],
        "value": [_text(op.value if op.element is None else op.element) for op in operations],
        "error": [_text(op.error) for op in operations],
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
        scale.lanes[hold.lane],
        scale.resources[hold.resource],
        scale.time(hold.leased_until),
        scale.time(hold.believed_until),
        -1 if hold.promised is None else scale.time(hold.promised),
        _text(hold.token),
        hold.renewals,
        shorten(hold.owner or ""),
        scale.operations[hold.grant],
    ]


def _band(band: Band, scale: _Scale) -> dict[str, Any]:
    return {
        "kind": band.kind,
        "target": shorten(band.target),
        "lane": None if band.lane is None else scale.lanes[band.lane],
        "server": scale.servers[band.target] if band.lane is None else None,
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
        "seq": [_text(write.seq) for write in stored],
        "resource": [scale.resources.get(write.resource, -1) for write in stored],
        "token": [_text(write.token) for write in stored],
        "value": [_text(write.value) for write in stored],
        "operation": [(scale.positions([write.operation]) or [-1])[0] for write in stored],
    }


def _scene(scene: Scene, scale: _Scale) -> dict[str, Any]:
    operations, bands = numbered(scene.mentions)
    return {
        "anomaly": scene.anomaly,
        "label": scene.label,
        "wrong": scene.is_violation,
        "resource": scale.resources[scene.resource],
        "from": scale.time(scene.start),
        "to": scale.time(scene.end),
        "proof": scale.positions(scene.proof),
        "accused": scale.positions(scene.accused),
        "against": scale.positions(scene.against),
        "holds": scale.positions(scene.holds),
        "strays": [scale.accepted[place] for place in scene.strays],
        "spans": [_span(span, scale) for span in scene.spans],
        "lanes": [scale.lanes[lane] for lane in scene.lanes],
        "badges": [
            {"operation": scale.operations[index], "label": label(steps), "steps": steps}
            for index, steps in operations.items()
            if index in scale.operations
        ]
        + [
            {"band": scale.bands[number], "label": label(steps), "steps": steps}
            for number, steps in bands.items()
            if number in scale.bands
        ],
    }


def _span(span: Span, scale: _Scale) -> dict[str, Any]:
    return {
        "from": scale.time(span.start),
        "to": scale.time(span.end),
        "words": span.words,
        "free": span.free,
    }


def script_safe(document: object) -> str:
    """JSON that cannot end the script element that it stands in, nor start markup in it."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")

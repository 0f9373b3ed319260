"""The data of a report's drawings: columns, with times in ticks from the first event.

A tick is a nanosecond, or as many nanoseconds as a long run needs to fit a browser's
numbers (exact up to 2^53). Tokens and values are strings: a browser would round them.

Values of a history are untrusted: they are whatever a service answered. They are
only passed as JSON inside an inert script element, escaped so that they cannot end it,
and reach the page as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.history.columns import Ints
from checkers.text.printable import shorten
from checkers.vocabulary.fault_kinds import named
from harness.report.chart_columns import EXACT, ChartScale, accepted_columns, as_text, operation_columns
from harness.report.holds import DrawnHold
from harness.report.lanes import Lanes
from harness.report.scenes import Scene, WrongSpan, label, numbered
from harness.report.timeline import Band, Timeline

MOST_BYTES = 6_000_000  # of a drawing's data: keeps a page well under 10 MB
MOST_BANDS = 2_000
GROWING = {"operations": ("from", "to", "call", "answer"), "accepted": ("at", "earliest", "latest")}
"""Numbers that grow along a column: their steps take about half the bytes; `format.js` adds them up again."""
_SAMPLE = 2_000  # operations
_ROOM = 0.95  # of the bytes; operations differ in length


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A drawing's data as JSON, and the operations in it."""

    text: str
    kept: Kept


def fitted(
    timeline: Timeline, scenes: Sequence[Scene], lanes: Lanes, most_bytes: int = MOST_BYTES
) -> Drawing:
    """The swimlane's data, with as many operations as fit on a page."""

    def drawn(most: int) -> Drawing:
        kept = keep(timeline, scenes, most)
        data = drawing(timeline, scenes, lanes, kept)
        steps = {part: _stepped(data[part], names) for part, names in GROWING.items()}
        return Drawing(text=script_safe({**data, **steps}), kept=kept)

    most = MOST_OPERATIONS if len(timeline.operations) <= MOST_OPERATIONS else MOST_OF_A_SAMPLE
    if len(timeline.operations) > _SAMPLE:
        most = min(most, _room(drawn(1), drawn(_SAMPLE), most_bytes))
    while len((found := drawn(most)).text) > most_bytes and most > 1:
        most = min(most, len(found.kept.rows)) // 2
    return found


def _stepped(columns: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Columns with the steps of those that grow in place of their numbers."""
    steps = {name: np.diff(np.array(columns[name], dtype=np.int64), prepend=0).tolist() for name in names}
    return {**columns, **steps}


def _room(least: Drawing, sample: Drawing, most_bytes: int) -> int:
    """How many operations fit, estimated by how much a sample adds to what the scenes need."""
    more = max(1, len(sample.kept.rows) - len(least.kept.rows))
    each = max(1, len(sample.text) - len(least.text)) / more  # bytes
    return max(1, len(least.kept.rows) + int((_ROOM * most_bytes - len(least.text)) / each))


MOST_OPERATIONS = 100_000
MOST_OF_A_SAMPLE = 20_000  # of a longer run, which no drawing can have in full


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kept:
    """The rows of the operations in a report, and the number of operations that it leaves out."""

    rows: Ints
    left_out: int


def keep(timeline: Timeline, scenes: Iterable[Scene], most: int = MOST_OPERATIONS) -> Kept:
    """Everything, or what the scenes need in full and an even sample of the rest."""
    count = len(timeline.operations)
    if count <= most:
        return Kept(rows=np.arange(count), left_out=0)
    chosen = np.zeros(count, dtype=np.bool_)
    for scene in scenes:
        chosen[list(scene.needed)] = True
        inside = timeline.rows_within(scene.start, scene.end)
        if np.count_nonzero(chosen) + len(inside) <= most:
            chosen[inside] = True
    others = np.flatnonzero(~chosen)
    room = min(len(others), max(1, most - int(np.count_nonzero(chosen))))
    chosen[others[np.arange(room) * len(others) // max(1, room)]] = True
    rows = np.flatnonzero(chosen)
    return Kept(rows=rows, left_out=count - len(rows))


def drawing(timeline: Timeline, scenes: Sequence[Scene], lanes: Lanes, kept: Kept) -> dict[str, Any]:
    """The swimlane's data."""
    columns = timeline.operations.columns
    rows = kept.rows
    held = timeline.holds.among(rows)
    bands = _bands(timeline, scenes)
    named = {columns.resources[number] for number in np.unique(columns.resource[rows]).tolist()}
    resources = sorted(named | {scene.resource for scene in scenes})
    played = {lanes.lane(process) for process in np.unique(columns.process[rows]).tolist()} | {
        lane for scene in scenes for lane in scene.lanes
    }
    clients = sorted(played | {band.lane for band in bands.values() if band.lane is not None})
    servers = sorted({band.fault.target for band in bands.values() if band.lane is None})
    accepted = _stored(timeline, scenes, rows)
    scale = ChartScale(
        start=timeline.start,
        tick=1 + (timeline.end - timeline.start) // EXACT,
        resources={name: place for place, name in enumerate(resources)},
        operations={row: place for place, row in enumerate(rows.tolist())},
        lanes={lane: place for place, lane in enumerate(clients)},
        servers={name: place for place, name in enumerate(servers)},
        bands={number: place for place, number in enumerate(bands)},
        accepted={number: place for place, number in enumerate(accepted.tolist())},
    )
    return {
        "tick": scale.tick,
        "length": scale.time(timeline.end),
        "complete": not kept.left_out,
        "lanes": [lanes.names[lane] for lane in clients],
        "servers": [shorten(name) for name in servers],
        "resources": [shorten(name) for name in resources],
        "operations": operation_columns(timeline.operations, rows, lanes, scale)
        | {"waiting": scale.positions(_waiting(rows, timeline, scenes))},
        "holds": sorted((_hold(hold, scale) for hold in held), key=lambda hold: hold[0]),
        "bands": [_band(band, scale) for band in bands.values()],
        "accepted": accepted_columns(timeline.accepted, accepted, scale),
        "ordered": len(accepted) > 0 and timeline.accepted.commits is not None,
        "scenes": [_scene(scene, scale) for scene in scenes],
    }


def _bands(timeline: Timeline, scenes: Sequence[Scene]) -> dict[int, Band]:
    """The faults to draw, by their numbers: those of the scenes, and as many others as fit."""
    causes = {scene.cause for scene in scenes}
    wanted = {number for scene in scenes for mention in scene.mentions for number in mention.bands}
    wanted.update(number for number, band in enumerate(timeline.bands) if band in causes)
    rest = [number for number in range(len(timeline.bands)) if number not in wanted]
    stride = -(-len(rest) // max(1, MOST_BANDS - len(wanted)))
    chosen = sorted(wanted.union(rest[:: max(1, stride)]))
    return {number: timeline.bands[number] for number in chosen}


def _stored(timeline: Timeline, scenes: Sequence[Scene], rows: Ints) -> Ints:
    """The places of the accepted writes to draw; of those that no client sent, an even sample."""
    accepted = timeline.accepted
    wanted = {place for scene in scenes for place in scene.unmatched}
    unmatched = [place for place in accepted.unmatched().tolist() if place not in wanted]
    wanted.update(unmatched[:: 1 + len(unmatched) // MOST_BANDS])
    drawn = np.isin(accepted.operation, rows)
    drawn[list(wanted)] = True
    return np.flatnonzero(drawn)


def _waiting(rows: Ints, timeline: Timeline, scenes: Sequence[Scene]) -> list[int]:
    """The renewals of waiting clients, which are not drawn: they would look like renewals of a hold."""
    needed = [row for scene in scenes for row in scene.needed]
    waiting: list[int] = rows[timeline.holds.renewed_while_waiting[rows] & ~np.isin(rows, needed)].tolist()
    return waiting


def _hold(hold: DrawnHold, scale: ChartScale) -> list[Any]:
    return [
        scale.time(hold.held_from),
        scale.lanes[hold.lane],
        scale.resources[hold.resource],
        scale.time(hold.leased_until),
        scale.time(hold.believed_until),
        -1 if hold.promised is None else scale.time(hold.promised),
        as_text(hold.token),
        hold.renewals,
        shorten(hold.owner or ""),
        scale.operations[hold.grant],
    ]


def _band(band: Band, scale: ChartScale) -> dict[str, Any]:
    return {
        "kind": band.fault.kind,
        "short": shorten(band.fault.words.short),
        "target": shorten(named(band.fault.target)),
        "lane": None if band.lane is None else scale.lanes[band.lane],
        "server": scale.servers[band.fault.target] if band.lane is None else None,
        "from": scale.time(band.fault.began),
        "to": None if band.end is None else scale.time(band.end),
        "evidence": shorten(band.evidence),
        "healed": shorten(band.healed_evidence),
    }


def _scene(scene: Scene, scale: ChartScale) -> dict[str, Any]:
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
        "unmatched": [scale.accepted[place] for place in scene.unmatched],
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


def _span(span: WrongSpan, scale: ChartScale) -> dict[str, Any]:
    return {
        "from": scale.time(span.start),
        "to": scale.time(span.end),
        "words": span.words,
        "free": span.free,
    }


def script_safe(document: object) -> str:
    """JSON that cannot end its script element, nor start markup in it."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")

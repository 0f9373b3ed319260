"""A scene in words, event by event: the timeline for readers who cannot see the drawing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np

from checkers.history.columns import ABSENT, READ, RENEW, Flags, Ints
from checkers.history.records import Outcome
from checkers.vocabulary.fault_kinds import named
from harness.report.holds import DrawnHold, end_of
from harness.report.lanes import Lanes
from harness.report.scenes import Scene
from harness.report.timeline import Band, Timeline
from harness.report.wording import action, answer

_MOST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One line of the table."""

    at: int  # ns
    who: str
    what: str
    lines: tuple[int, ...] = ()
    marked: bool = False


def narrate(scene: Scene, timeline: Timeline, lanes: Lanes) -> SimpleNamespace:
    """Describe a scene: grants, writes and their answers, leases that ran out, faults."""
    within = (each for each in _all(scene, timeline, lanes) if scene.start <= each.at <= scene.end)
    moments = sorted(within, key=lambda moment: moment.at)
    if len(moments) <= _MOST:
        return SimpleNamespace(moments=tuple(moments), left_out=0)
    kept = _most_telling(moments)
    return SimpleNamespace(moments=tuple(kept), left_out=len(moments) - len(kept))


def _most_telling(moments: Sequence[Moment]) -> list[Moment]:
    """The marked moments, and the first and last of the others."""
    spare = max(2, _MOST - sum(moment.marked for moment in moments))
    others = [position for position, moment in enumerate(moments) if not moment.marked]
    chosen = {*others[: spare // 2], *others[-(spare - spare // 2) :]}
    return [moment for position, moment in enumerate(moments) if moment.marked or position in chosen]


def _all(scene: Scene, timeline: Timeline, lanes: Lanes) -> Iterator[Moment]:
    proof = set(scene.proof)
    for op in timeline.operations.at(_of_interest(scene, timeline)):
        answered = op.f == "acquire" and op.outcome is Outcome.OK
        yield Moment(
            at=end_of(op) if answered else op.called,
            who=lanes.names[lanes.lane(op.process)],
            what=f"{action(op)}: {answer(op)}",
            lines=op.lines,
            marked=op.index in proof,
        )
    for band in timeline.bands:
        if band.fault.overlaps(scene.start, scene.end):
            yield from _fault(band, scene)
    for hold in timeline.holds.promised_within(scene.resource, scene.start, scene.end):
        yield from _lapse(hold, lanes)


def _of_interest(scene: Scene, timeline: Timeline) -> Ints:
    """The rows of all operations on the resource in that time, except renewals and reads."""
    columns = timeline.operations.columns
    rows = timeline.rows_within(scene.start, scene.end)
    number = columns.resources.index(scene.resource) if scene.resource in columns.resources else ABSENT
    wanted: Flags = (columns.resource[rows] == number) & ~np.isin(columns.f[rows], (RENEW, READ))
    return rows[wanted]


def _fault(band: Band, scene: Scene) -> Iterator[Moment]:
    marked = band.lane in scene.lanes
    who, words = named(band.fault.target), band.fault.words
    yield Moment(at=band.fault.began, who=who, what=words.now, marked=marked)
    if band.end is not None:
        yield Moment(at=band.end, who=who, what=words.afterwards, marked=marked)


def _lapse(hold: DrawnHold, lanes: Lanes) -> Iterator[Moment]:
    """A lease that ran out while its client still believed that it was the holder."""
    if hold.promised is not None and hold.promised < hold.believed_until:
        token = "" if hold.token is None else f" with token {hold.token}"
        what = f"the lease{token} on {hold.resource} has run out"
        yield Moment(at=hold.promised, who=lanes.names[hold.lane], what=what, marked=True)

"""Scenes: the part of a run that explains a finding, and the clients involved.

A run without findings shows the stale writes that the fence rejected.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from checkers.facts.evidence import gather
from checkers.facts.stuck_stretches import stretches
from checkers.history.columns import ABSENT, APPEND, FAIL, FENCE, OK, WRITE, Columns, Ints
from checkers.history.records import History, Op, Outcome
from checkers.text.printable import content
from checkers.vocabulary.document import FindingDocument
from checkers.vocabulary.rule_words import described
from harness.report.bands import Band
from harness.report.holds import DrawnHold, end_of
from harness.report.lanes import Lanes
from harness.report.rows import number_of_stale
from harness.report.step_references import Mention, Mentions
from harness.report.timeline import Timeline

REJECTED = "stale write rejected"  # no anomaly: the fence at work

_EDGE = 0.06  # of the window, on either side
_LEAST_EDGE = 20_000_000  # ns
_MOST_LANES = 12
_MOST_EXAMPLES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongSpan:
    """An interval of the lock's lane that is wrong as a whole. Times in ns."""

    start: int
    end: int
    words: str
    free: bool = False  # no client can have held it


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What to show for one finding. Times in ns."""

    anomaly: str
    resource: str
    summary: str
    story: tuple[str, ...]  # what happened, in a few sentences
    steps: tuple[str, ...]
    mentions: tuple[Mention, ...]  # what each step names
    proof: tuple[int, ...]  # indices of the operations that prove it, by time
    accused: tuple[int, ...]  # indices of the wrong ones (in a rejection: of the refused ones)
    against: tuple[int, ...]  # indices of those that they contradict
    unmatched: tuple[int, ...]  # positions among the accepted writes: wrong, and sent by no client
    spans: tuple[WrongSpan, ...]  # of the lock's lane: granted too early, or not granted for too long
    start: int
    end: int
    cause: Band | None  # the fault that opened the window
    lanes: tuple[int, ...]  # the clients involved, from the top
    holds: tuple[int, ...] = ()  # indices of the grants that they acted under
    rule: str = ""  # that was broken

    @property
    def label(self) -> str:
        """What is wrong with the accused, in a few words."""
        if self.anomaly == REJECTED:
            return "stale write refused"
        known = described(self.anomaly, self.rule)  # a file may be of a newer release
        return known.label if known else self.anomaly.replace("-", " ")

    @property
    def meaning(self) -> str:
        """What kind of scene it is, in a sentence; empty if its anomaly is not known."""
        if self.anomaly == REJECTED:
            return "A client that had lost the lock tried to write, and the fence refused the write."
        known = described(self.anomaly, self.rule)
        return known.definition if known else ""

    @property
    def needed(self) -> frozenset[int]:
        """The operations without which it cannot be drawn."""
        named = (index for mention in self.mentions for index in mention.operations)
        return frozenset((*self.proof, *self.holds, *named))

    @property
    def is_violation(self) -> bool:
        """Is something wrong? Otherwise it shows the fence at work."""
        return self.anomaly != REJECTED


class Stage:
    """A run as scenes are taken from it."""

    def __init__(self, timeline: Timeline, lanes: Lanes, history: History) -> None:
        self.timeline = timeline
        self.lanes = lanes
        self.history = history
        self.mentions = Mentions(timeline.operations, timeline.bands)

    def on_lines(self, lines: Iterable[int]) -> list[Op]:
        """The operations of these lines of the history, by the times of their calls."""
        known = self.mentions.lines.of(lines)
        return sorted({op.index: op for op in known}.values(), key=lambda op: (op.called, op.index))


def findings(found: Sequence[FindingDocument], stage: Stage) -> tuple[Scene, ...]:
    """A scene for each finding of a verdict."""
    return tuple(_staged(_finding(finding, stage), stage) for finding in found)


def _finding(finding: FindingDocument, stage: Stage) -> _Event:
    cause = finding.cause
    return _Event(
        anomaly=finding.anomaly,
        rule=finding.rule,
        proof=tuple(stage.on_lines(finding.operations)),
        accused=tuple(stage.on_lines(finding.accused)),
        against=tuple(stage.on_lines(finding.against)),
        resource=finding.resource,
        summary=finding.summary,
        story=tuple(finding.story),
        steps=tuple(finding.steps),
        mentions=stage.mentions.of(finding),
        cause=next(iter(stage.mentions.bands(cause.faults)), None) if cause else None,
    )


def rejections(stage: Stage) -> tuple[Scene, ...]:
    """The first rejected stale writes, each with the newer write that came before it."""
    events = itertools.islice(_rejections(stage.timeline, stage.lanes), _MOST_EXAMPLES)
    return tuple(_staged(each, stage) for each in events)


def _rejections(timeline: Timeline, lanes: Lanes) -> Iterator[_Event]:
    operations, columns = timeline.operations, timeline.operations.columns
    writes = columns.rows(WRITE, APPEND, FENCE)
    refused = writes[(columns.outcome[writes] == FAIL) & (columns.error[writes] == number_of_stale(columns))]
    accepted = writes[(columns.outcome[writes] == OK) & (columns.token[writes] != ABSENT)]
    levels_of = cache(lambda resource: _levels(columns, accepted[columns.resource[accepted] == resource]))
    for row in refused.tolist():
        write, levels = operations[row], levels_of(int(columns.resource[row]))
        place = int(np.searchsorted(columns.token[levels], max(-1, int(columns.token[row])), side="right"))
        if place < len(levels) and int(columns.called[levels[place]]) <= end_of(write):
            yield _rejection(write, operations[int(levels[place])], lanes)


def _levels(columns: Columns, accepted: Ints) -> Ints:
    """The accepted writes of a resource that raised its highest token, by call."""
    tokens = columns.token[accepted]
    highest = np.maximum.accumulate(np.concatenate([[ABSENT], tokens]))[:-1]
    return accepted[tokens > highest]


def _rejection(write: Op, newer: Op, lanes: Lanes) -> _Event:
    late, early = (lanes.names[lanes.lane(op.process)].capitalize() for op in (write, newer))
    proof = tuple(sorted((newer, write), key=lambda op: (op.called, op.index)))
    about = ((newer.index,), (write.index,), tuple(op.index for op in proof))
    return _Event(
        anomaly=REJECTED,
        proof=proof,
        accused=(write,),
        against=(newer,),
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
        mentions=tuple(Mention(operations=operations, bands=()) for operations in about),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """What happened, and the operations that show it."""

    anomaly: str
    proof: tuple[Op, ...]
    accused: tuple[Op, ...]
    against: tuple[Op, ...]
    resource: str
    summary: str
    steps: tuple[str, ...]
    mentions: tuple[Mention, ...]
    story: tuple[str, ...] = ()
    rule: str = ""
    cause: int | None = None  # the position of a fault


def _staged(event: _Event, stage: Stage) -> Scene:
    """A finding with the time and the clients that are needed to show it."""
    timeline = stage.timeline
    shown = _shown(event, stage)
    involved = _involved(shown, stage)
    cause = None if event.cause is None else timeline.bands[event.cause]
    unmatched = _unmatched(event, timeline)
    spans = tuple(_spans(event, stage))
    hits = [*_hits(involved, event.proof, timeline.bands), *_named(event, timeline.bands)]
    moments = [moment for op in shown for moment in (matters_from(op), end_of(op))]
    moments += [hold.held_from for hold in involved]
    moments += [band.start for band in (*hits, *([cause] if cause else ()))]
    moments += [moment for span in spans for moment in (span.start, span.end)]
    moments += timeline.accepted.at[list(unmatched)].tolist()
    start, end = min(moments, default=timeline.start), max(moments, default=timeline.end)
    edge = max(int((end - start) * _EDGE), min(_LEAST_EDGE, (timeline.end - timeline.start) // 20))
    return Scene(
        anomaly=event.anomaly,
        resource=event.resource,
        summary=event.summary,
        story=event.story,
        steps=event.steps,
        mentions=event.mentions,
        proof=tuple(op.index for op in event.proof),
        accused=tuple(op.index for op in event.accused),
        against=tuple(op.index for op in event.against),
        rule=event.rule,
        unmatched=unmatched,
        spans=spans,
        start=max(timeline.start, start - edge),
        end=min(timeline.end, end + edge),
        cause=cause,
        lanes=_cast(shown, involved, stage.lanes),
        holds=tuple(hold.grant for hold in involved),
    )


def _shown(event: _Event, stage: Stage) -> list[Op]:
    """The operations of a finding: its proof, and what its steps name."""
    named = (stage.timeline.operations[index] for each in event.mentions for index in each.operations)
    return list({op.index: op for op in (*event.proof, *named)}.values())


def matters_from(op: Op) -> int:
    """A granted acquire matters from its grant on: it may have waited for a long time."""
    return end_of(op) if op.f == "acquire" and op.outcome is Outcome.OK else op.called


def _involved(shown: Sequence[Op], stage: Stage) -> list[DrawnHold]:
    """The holds under which the operations of a scene were done."""
    found = (_hold_of(op, stage) for op in shown)
    return list({hold.grant: hold for hold in found if hold is not None}.values())


def _hold_of(op: Op, stage: Stage) -> DrawnHold | None:
    """The hold that an operation began, or was done under."""
    return stage.timeline.holds.of_grant(op.index) or stage.timeline.holds.under(op)


def _hits(involved: Sequence[DrawnHold], proof: Sequence[Op], bands: Sequence[Band]) -> list[Band]:
    """Faults that hit a client of the proof while it believed in its hold."""
    last = max((end_of(op) for op in proof), default=0)
    return [
        band
        for band in bands
        for hold in involved
        if band.lane == hold.lane
        and hold.held_from <= band.start <= min(last, hold.believed_until)
        and (band.owner is None or band.owner == hold.owner)
    ]


def _named(event: _Event, bands: Sequence[Band]) -> list[Band]:
    """The faults that the steps name."""
    return [bands[place] for mention in event.mentions for place in mention.bands]


def _unmatched(event: _Event, timeline: Timeline) -> tuple[int, ...]:
    """The stored writes that no client sent, of a finding that accuses no operation of a client."""
    if event.accused:
        return ()
    places = timeline.accepted.unmatched()
    writes = zip(places.tolist(), timeline.accepted.writes(places), strict=True)
    return tuple(
        place
        for place, write in writes
        if write.resource == event.resource and content(write.value) in event.summary
    )


def _spans(event: _Event, stage: Stage) -> Iterator[WrongSpan]:
    """The intervals in which the lock is wrong, as the checkers computed them."""
    if event.anomaly == "early-grant":
        yield from _overlaps(event, stage)
    elif event.anomaly == "stuck-lock":
        waiting = {op.index for op in event.accused}
        for stuck in stretches(gather(stage.history)):
            if waiting & {op.index for op in stuck.waiting}:
                start, end = (
                    int(max(stuck.start, stage.timeline.start)),
                    int(min(stuck.end, stage.timeline.end)),
                )
                yield WrongSpan(start=start, end=end, words="free, but not granted", free=True)


def _overlaps(event: _Event, stage: Stage) -> Iterator[WrongSpan]:
    """From an early grant to the end of the lease that was still promised."""
    holds, by_tokens = stage.timeline.holds, event.rule == "promised-by-tokens"
    for late in event.accused:
        for earlier in event.against:
            given, held = holds.of_grant(late.index), holds.of_grant(earlier.index)
            if given is None or held is None or held.promised is None:
                continue
            start = late.returned if by_tokens else given.granted
            if start is not None and start < held.promised:
                words = "by the tokens, promised to two" if by_tokens else "promised to two"
                yield WrongSpan(start=start, end=held.promised, words=words)


def _cast(shown: Sequence[Op], involved: Sequence[DrawnHold], lanes: Lanes) -> tuple[int, ...]:
    """The lanes of the clients involved."""
    seen = [hold.lane for hold in involved] + [lanes.lane(op.process) for op in shown]
    return tuple(sorted(dict.fromkeys(seen).keys())[:_MOST_LANES])

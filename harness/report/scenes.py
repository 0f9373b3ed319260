"""Scenes: the part of a run that explains a finding, and the clients involved.

A run without findings shows the stale writes that the fence rejected.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from checkers.facts.evidence import gather
from checkers.facts.stuck_stretches import stretches
from checkers.history.columns import ABSENT, APPEND, FAIL, FENCE, OK, WRITE, Columns, Ints, Operations
from checkers.history.records import History, Op, Outcome
from checkers.text.printable import content
from checkers.vocabulary.document import FindingDocument
from checkers.vocabulary.rule_words import described
from harness.core.grouping import grouped
from harness.report.holds import DrawnHold, end_of
from harness.report.lanes import Lanes
from harness.report.rows import Lines, number_of_stale
from harness.report.timeline import Band, Timeline

REJECTED = "stale write rejected"  # no anomaly: the fence at work

_EDGE = 0.06  # of the window, on either side
_LEAST_EDGE = 20_000_000  # ns
_MOST_LANES = 12
_MOST_EXAMPLES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """What one step is about."""

    operations: tuple[int, ...]  # indexes, in the order of their calls
    bands: tuple[int, ...]  # positions among the faults of the run


def numbered(mentions: Sequence[Mention]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """The numbers of the steps that name each operation, and each fault."""
    steps = [*enumerate(mentions, start=1)]
    operations = grouped((index, number) for number, mention in steps for index in mention.operations)
    return operations, grouped((place, number) for number, mention in steps for place in mention.bands)


def label(steps: Sequence[int]) -> str:
    """Numbers of steps as a badge shows them: "2", "2–4", "1, 3"."""
    if len(steps) > 1 and steps[-1] - steps[0] == len(steps) - 1:
        return f"{steps[0]}–{steps[-1]}"
    return ", ".join(map(str, steps))


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
    story: tuple[str, ...] = ()  # what happened, in a few sentences
    steps: tuple[str, ...]
    mentions: tuple[Mention, ...]  # what each step names
    proof: tuple[int, ...]  # indices of the operations that prove it, by time
    accused: tuple[int, ...]  # indices of the wrong ones (in a rejection: of the refused ones)
    against: tuple[int, ...]  # indices of those that they contradict
    unmatched: tuple[int, ...] = ()  # positions among the accepted writes: wrong, and sent by no client
    spans: tuple[WrongSpan, ...] = ()  # of the lock's lane: granted too early, or not granted for too long
    start: int = 0
    end: int = 0
    cause: Band | None = None  # the fault that opened the window
    lanes: tuple[int, ...] = ()  # the clients involved, from the top
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
        self._lines = Lines(Operations.of(timeline.operations))
        self._bands = {line: place for place, band in enumerate(timeline.bands) for line in band.fault.lines}

    def mentions(self, finding: FindingDocument) -> tuple[Mention, ...]:
        """What each step of a finding is about."""
        found = zip(finding.step_lines, finding.step_faults, strict=True)
        named = ((sorted({op.index for op in self._lines.of(lines)}), faults) for lines, faults in found)
        return tuple(Mention(operations=tuple(rows), bands=self.bands(faults)) for rows, faults in named)

    def bands(self, lines: Iterable[int]) -> tuple[int, ...]:
        """The positions of the faults on some lines."""
        return tuple(sorted({self._bands[line] for line in lines if line in self._bands}))

    def on_lines(self, lines: Iterable[int]) -> tuple[int, ...]:
        """The indices of the operations of these lines of the history, by the times of their calls."""
        return _by_call(self._lines.of(lines))

    def operations(self, indices: Iterable[int]) -> list[Op]:
        """The operations with these indices, each once."""
        return [self.timeline.operations[index] for index in dict.fromkeys(indices)]


def _by_call(operations: Iterable[Op]) -> tuple[int, ...]:
    return tuple(index for _, index in sorted({(op.called, op.index) for op in operations}))


def findings(found: Sequence[FindingDocument], stage: Stage) -> tuple[Scene, ...]:
    """A scene for each finding of a verdict."""
    return tuple(_staged(_finding(finding, stage), stage) for finding in found)


def _finding(finding: FindingDocument, stage: Stage) -> Scene:
    causes = stage.bands(finding.cause.faults) if finding.cause else ()
    return Scene(
        anomaly=finding.anomaly,
        rule=finding.rule,
        proof=stage.on_lines(finding.operations),
        accused=stage.on_lines(finding.accused),
        against=stage.on_lines(finding.against),
        resource=finding.resource,
        summary=finding.summary,
        story=tuple(finding.story),
        steps=tuple(finding.steps),
        mentions=stage.mentions(finding),
        cause=stage.timeline.bands[causes[0]] if causes else None,
    )


def rejections(stage: Stage) -> tuple[Scene, ...]:
    """The first rejected stale writes, each with the newer write that came before it."""
    events = itertools.islice(_rejections(stage.timeline, stage.lanes), _MOST_EXAMPLES)
    return tuple(_staged(each, stage) for each in events)


def _rejections(timeline: Timeline, lanes: Lanes) -> Iterator[Scene]:
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


def _rejection(write: Op, newer: Op, lanes: Lanes) -> Scene:
    late, early = (lanes.names[lanes.lane(op.process)].capitalize() for op in (write, newer))
    proof = _by_call((newer, write))
    return Scene(
        anomaly=REJECTED,
        proof=proof,
        accused=(write.index,),
        against=(newer.index,),
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
        mentions=tuple(
            Mention(operations=operations, bands=()) for operations in ((newer.index,), (write.index,), proof)
        ),
    )


def _staged(scene: Scene, stage: Stage) -> Scene:
    """A finding with the time and the clients that are needed to show it."""
    timeline, bands = stage.timeline, stage.timeline.bands
    named = (index for mention in scene.mentions for index in mention.operations)
    shown = stage.operations((*scene.proof, *named))
    involved = _involved(shown, stage)
    unmatched = _unmatched(scene, timeline)
    spans = tuple(_spans(scene, stage))
    hits = _hits(involved, stage.operations(scene.proof), bands)
    hits += [bands[place] for mention in scene.mentions for place in mention.bands]
    moments = [moment for op in shown for moment in (matters_from(op), end_of(op))]
    moments += [hold.held_from for hold in involved]
    moments += [band.fault.began for band in (*hits, *([scene.cause] if scene.cause else ()))]
    moments += [moment for span in spans for moment in (span.start, span.end)]
    moments += timeline.accepted.at[list(unmatched)].tolist()
    start, end = min(moments, default=timeline.start), max(moments, default=timeline.end)
    edge = max(int((end - start) * _EDGE), min(_LEAST_EDGE, (timeline.end - timeline.start) // 20))
    cast = {*(hold.lane for hold in involved), *(stage.lanes.lane(op.process) for op in shown)}
    return replace(
        scene,
        unmatched=unmatched,
        spans=spans,
        start=max(timeline.start, start - edge),
        end=min(timeline.end, end + edge),
        lanes=tuple(sorted(cast)[:_MOST_LANES]),
        holds=tuple(hold.grant for hold in involved),
    )


def matters_from(op: Op) -> int:
    """A granted acquire matters from its grant on: it may have waited for a long time."""
    return end_of(op) if op.f == "acquire" and op.outcome is Outcome.OK else op.called


def _involved(shown: Sequence[Op], stage: Stage) -> list[DrawnHold]:
    """The holds that the operations of a scene began, or were done under."""
    holds = stage.timeline.holds
    found = (holds.of_grant(op.index) or holds.under(op) for op in shown)
    return list({hold.grant: hold for hold in found if hold is not None}.values())


def _hits(involved: Sequence[DrawnHold], proof: Sequence[Op], bands: Sequence[Band]) -> list[Band]:
    """Faults that hit a client of the proof while it believed in its hold."""
    last = max((end_of(op) for op in proof), default=0)
    return [
        band
        for band in bands
        for hold in involved
        if band.lane == hold.lane
        and hold.held_from <= band.fault.began <= min(last, hold.believed_until)
        and band.fault.owner in (None, hold.owner)
    ]


def _unmatched(scene: Scene, timeline: Timeline) -> tuple[int, ...]:
    """The stored writes that no client sent, of a finding that accuses no operation of a client."""
    if scene.accused:
        return ()
    places = timeline.accepted.unmatched()
    writes = zip(places.tolist(), timeline.accepted.writes(places), strict=True)
    return tuple(
        place
        for place, write in writes
        if write.resource == scene.resource and content(write.value) in scene.summary
    )


def _spans(scene: Scene, stage: Stage) -> Iterator[WrongSpan]:
    """The intervals in which the lock is wrong, as the checkers computed them."""
    if scene.anomaly == "early-grant":
        yield from _overlaps(scene, stage)
    elif scene.anomaly == "stuck-lock":
        for stuck in stretches(gather(stage.history)):
            if not {op.index for op in stuck.waiting}.isdisjoint(scene.accused):
                start = int(max(stuck.start, stage.timeline.start))
                end = int(min(stuck.end, stage.timeline.end))
                yield WrongSpan(start=start, end=end, words="free, but not granted", free=True)


def _overlaps(scene: Scene, stage: Stage) -> Iterator[WrongSpan]:
    """From an early grant to the end of the lease that was still promised."""
    holds, by_tokens = stage.timeline.holds, scene.rule == "promised-by-tokens"
    for late, earlier in itertools.product(scene.accused, scene.against):
        given, held = holds.of_grant(late), holds.of_grant(earlier)
        if given is None or held is None or held.promised is None:
            continue
        start = stage.timeline.operations[late].returned if by_tokens else given.granted
        if start is not None and start < held.promised:
            words = "by the tokens, promised to two" if by_tokens else "promised to two"
            yield WrongSpan(start=start, end=held.promised, words=words)

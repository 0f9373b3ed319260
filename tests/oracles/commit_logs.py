"""The violations of one resource by its commit log: the definitions, pair by pair, with every choice tried.

Written from the definitions alone and meant for small histories; it shares no rule with the
checkers. The log is complete: it shows which writes took effect, in which order. Every way
to resolve the rest is tried: after which of its places a write that is logged twice was read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.history.records import Op, Outcome
from tests.support.logged_resource import START, Names, Resource


def names(resource: Resource) -> Names:
    """The anomalies of one resource."""
    must: set[str] = set()
    may: set[str] = set()
    for rule in (_stale, _twice, _ghosts, _missing, _without_token, _unmatched, _fences, _misreads):
        must.update(rule(resource))
    for decided in (_time_and_reads, _rejections, _after_losses):
        surely, perhaps = decided(resource)
        must.update(surely)
        may.update(perhaps)
    return Names(frozenset(must), frozenset(may))


def _stale(r: Resource) -> Iterator[str]:
    for late in r.entries:
        token = late.token
        if token is None or late.commit.fence:
            continue
        if r.refuses(token, r.header.initial_token):
            yield "stale-write"
        for early in r.entries[: late.place]:
            is_itself = early.op is not None and early.op is late.op
            again = is_itself and early.token == token
            if early.token is not None and not again and r.refuses(token, early.token):
                yield "stale-write"


def _twice(r: Resource) -> Iterator[str]:
    for write in r.writes:
        if len(r.places(write)) > 1:
            yield "duplicate-write"


def _ghosts(r: Resource) -> Iterator[str]:
    for write in r.writes:
        if write.outcome is Outcome.FAIL and (r.places(write) or r.readers(write)):
            yield "ghost-write"
    for entry in r.entries:
        if entry.commit.fence and entry.op is not None and entry.op.outcome is Outcome.FAIL:
            yield "ghost-write"


def _missing(r: Resource) -> Iterator[str]:
    for write in r.writes:
        if r.places(write) or write.outcome is Outcome.FAIL:
            continue
        was_read = bool(r.readers(write))
        if write.outcome is Outcome.OK:
            yield "lost-write" if _is_lost(r, write) else "phantom-accept"
        elif was_read:
            yield "lost-write" if r.restarted_after(write.called) else "non-linearizable"


def _is_lost(r: Resource, write: Op) -> bool:
    """Is it missing from the storage, although it had been there?"""
    if r.places(write) or write.outcome is Outcome.FAIL:
        return False
    seen = bool(r.readers(write))
    if write.outcome is Outcome.OK:
        return seen or r.restarted_after(write.called)
    return seen and r.restarted_after(write.called)


def _without_token(r: Resource) -> Iterator[str]:
    if not r.header.fenced:
        return
    if any(not each.commit.fence and each.commit.token is None for each in r.entries):
        yield "unfenced-write"
    if any(write.token is None and r.readers(write) for write in r.writes):
        yield "unfenced-write"


def _unmatched(r: Resource) -> Iterator[str]:
    for entry in r.entries:
        commit, op = entry.commit, entry.op
        if r.header.fenced and commit.token is None:
            continue  # an unfenced write, from any client
        if op is None and not r.is_cut_short:
            yield "non-linearizable"
        if op is not None and op.token != commit.token:
            yield "non-linearizable"


def _misreads(r: Resource) -> Iterator[str]:
    """Reads of values that no client can have seen."""
    for read in r.reads:
        logged = [each for each in r.entries if not each.commit.fence and each.commit.value == read.value]
        write = next((op for op in r.writes if op.value == read.value), None)
        if write is not None and read.precedes(write):
            yield "non-linearizable"
        elif write is not None or logged:
            known = {each.token for each in logged} | ({write.token} if write else set())
            if not (None in known or read.token is None or read.token in known):
                yield "non-linearizable"
        elif read.value != r.header.initial_value or read.token not in {None, r.header.initial_token}:
            yield "non-linearizable"


def _reached(r: Resource, token: int) -> int | None:
    """The first place at which the mark had a token or more; None: never."""
    if r.header.initial_token >= token:
        return START
    for entry in r.entries:
        if entry.token is not None and entry.token >= token:
            return entry.place
    return None


def _can_be_before(r: Resource, place: int, moment: float) -> bool:
    """Can the log have reached a place by a moment: had everything up to there been called?"""
    return all(entry.called <= moment for entry in r.entries[: place + 1])


def _fences(r: Resource) -> Iterator[str]:
    """An acknowledged fence whose token the mark cannot have had by then; or that let an older token pass."""
    if not r.header.fenced:
        return
    if not r.logs_fences:
        for fence, entry in itertools.product(r.fences, r.entries):
            if fence.outcome is Outcome.OK and entry.token is not None:
                too_late = not _can_be_before(r, entry.place, fence.returned or 0)
                if too_late and r.refuses(entry.token, fence.token or 0):
                    yield "stale-write"
        return
    for fence in r.fences:
        if fence.outcome is Outcome.OK and fence.returned is not None:
            place = _fenced_at(r, fence)
            if place is None and r.restarted_after(fence.called):
                yield "lost-write"
            elif place is None and not _reached_by_lost(r, fence):
                yield "phantom-accept"


def _reached_by_lost(r: Resource, fence: Op) -> bool:
    """May a write that was lost later have raised the mark to a fence's token before it was acknowledged?"""
    sent = (write for write in r.writes if write.called <= (fence.returned or 0) and _is_lost(r, write))
    return any((write.token or 0) >= (fence.token or 0) for write in sent)


def _fenced_at(r: Resource, fence: Op) -> int | None:
    """The place that the log had reached when a fence was acknowledged; None if it lacks the fence."""
    own = [each.place for each in r.entries if each.commit.fence and each.commit.token == fence.token]
    if own:
        return own[0]
    place = _reached(r, fence.token or 0)
    return place if place is not None and _can_be_before(r, place, fence.returned or 0) else None


@dataclass(frozen=True)
class _Step:
    """Something that happened at a place of the log: not before all up to `after`, and before `until`."""

    op: Op
    after: int
    until: int
    bounded: bool  # had it happened when it returned?

    @property
    def returned(self) -> float:
        known = self.bounded and self.op.returned is not None
        return float(self.op.returned or 0) if known else float("inf")


def _steps(r: Resource) -> list[_Step]:
    """The writes and fences of the log."""
    steps = []
    for entry in r.entries:
        if entry.op is None:
            continue
        op = entry.op
        is_first = r.places(op)[0] == entry.place
        bounded = op.outcome is Outcome.OK and is_first and not entry.commit.fence
        steps.append(_Step(op, entry.place, entry.place + 1, bounded))
    if r.logs_fences and r.header.fenced:
        for fence in r.fences:
            place = _fenced_at(r, fence)
            if fence.outcome is Outcome.OK and place is not None:
                steps.append(_Step(fence, place, len(r.entries) + 1, True))
    return steps


def _next_write(r: Resource, place: int) -> int:
    later = (each.place for each in r.entries[place + 1 :] if not each.commit.fence)
    return next(later, len(r.entries) + 1)


def _explained_reads(r: Resource) -> list[tuple[Op, list[int]]]:
    """The reads of logged values, with the places after which each can have happened."""
    found = []
    for read in r.reads:
        write = next((op for op in r.writes if op.value == read.value), None)
        if write is not None and read.precedes(write):
            continue
        places = [
            each.place for each in r.entries if not each.commit.fence and each.commit.value == read.value
        ]
        tokens = {r.entries[place].token for place in places} | ({write.token} if write else set())
        if places and (read.token is None or None in tokens or read.token in tokens):
            found.append((read, places))
        elif write is None and not places and read.value == r.header.initial_value:
            found += [(read, [START])] if read.token in {None, r.header.initial_token} else []
    return found


def _time_and_reads(r: Resource) -> tuple[set[str], set[str]]:
    """Does the log agree with real time and with the reads, for every choice of the unknowns?"""
    steps = _steps(r)
    reads = _explained_reads(r)
    certain = set(_order(r, steps))
    said = [
        frozenset(_order(r, [*steps, *_read_steps(r, reads, chosen)]))
        for chosen in itertools.product(*(places for _, places in reads))
    ]
    if frozenset() in said:
        return certain, set()
    every = frozenset.intersection(*said)
    return certain | every, set(frozenset.union(*said))


def _read_steps(r: Resource, reads: Sequence[tuple[Op, list[int]]], chosen: Sequence[int]) -> list[_Step]:
    return [
        _Step(read, place, _next_write(r, place), True)
        for (read, _), place in zip(reads, chosen, strict=True)
    ]


def _order(r: Resource, steps: Sequence[_Step]) -> Iterator[str]:
    """Whatever had returned before another was called, and yet happened after it by the log.

    One name for each operation that was called too late.
    """
    for second in steps:
        passed = [
            first.after
            for first in steps
            if first.returned < second.op.called and first.after >= second.until
        ]
        if not passed:
            continue
        if second.op.f != "read":
            yield "non-linearizable"
        elif replaced := _replaced(r, second, max(passed)):
            own = r.header.initial_token if second.after == START else r.entries[second.after].token
            is_old = any(token is not None and (own is None or token > own) for token in replaced)
            yield "stale-read" if is_old else "non-linearizable"


def _replaced(r: Resource, read: _Step, upto: int) -> list[int | None]:
    """The tokens of the writes that had replaced a read's value; those sent after the read are late."""
    return [
        each.token
        for each in r.entries[read.after + 1 : upto + 1]
        if not each.commit.fence and each.called <= (read.op.returned or 0)
    ]


def _rejections(r: Resource) -> tuple[set[str], set[str]]:
    """Rejections without a cause, and reads that contradict the cause of one."""
    must: set[str] = set()
    may: set[str] = set()
    steps = _steps(r)
    reads = _explained_reads(r)
    choices = [
        [*steps, *_read_steps(r, reads, chosen)]
        for chosen in itertools.product(*(places for _, places in reads))
    ]
    possible = [each for each in choices if not list(_order(r, each))]
    pinned: list[_Step] = []
    for write in r.rejected:
        least = (write.token or 0) + (r.header.policy == "inclusive")
        place = _reached(r, least)
        outside = list(_unlogged_causes(r, write, least))
        if place is not None and _can_be_before(r, place, write.returned or 0):
            if not outside and r.header.fenced:
                pinned.append(_Step(write, place, len(r.entries) + 1, True))
        elif outside:
            if any(op.f == "fence" or op.outcome is Outcome.INFO for op in outside):
                may |= {
                    "false-rejection",
                    "non-linearizable",
                }  # it may explain one operation and make a later one stale
        elif not possible and _reached(r, least) is not None:
            may.add("false-rejection")  # the log contradicts real time: the moment of this place is unknown
        else:
            must.add("false-rejection")
    clashes = [bool(list(_order(r, [*each, *pinned]))) for each in possible]
    if possible and all(clashes):
        must.add("non-linearizable")
    elif pinned and not possible:
        may.add("non-linearizable")  # something else is wrong with the reads already
    return must, may


def _unlogged_causes(r: Resource, rejected: Op, least: int) -> Iterator[Op]:
    """Operations missing from the log that may have raised the mark for a while."""
    for op in (*r.writes, *r.fences):
        if op.token is None or op.token < least or op.called > (rejected.returned or 0) or op is rejected:
            continue
        if op.f == "fence":
            is_missing = op.outcome is Outcome.OK and _fenced_at(r, op) is None
            lost = op.outcome is Outcome.INFO and r.restarted_after(op.called) and not r.is_logged(op)
            if not r.logs_fences or is_missing or lost:
                yield op
        elif not r.places(op):
            lost = op.outcome is Outcome.INFO and r.restarted_after(op.called)
            if op.outcome is Outcome.OK or r.readers(op) or lost:
                yield op


def _after_losses(r: Resource) -> tuple[set[str], set[str]]:
    """The consequences of a lost write: a later one below it is stale, and reads go back."""
    must: set[str] = set()
    may: set[str] = set()
    for lost in r.writes:
        if not _is_lost(r, lost) or lost.token is None:
            continue
        ends = [
            op.returned
            for op in (lost, *r.readers(lost))
            if op.returned is not None and op.outcome is Outcome.OK
        ]
        may |= {"high-water-regression", "stale-read"}
        for entry in r.entries:
            token = entry.token
            if entry.op is not None and token is not None and ends and min(ends) < entry.op.called:
                may |= {"stale-write"} if r.refuses(token, lost.token) else set()
            if token == lost.token and r.header.policy == "strict":
                may.add("stale-write")  # one token was accepted twice, whichever came first
    return must, may

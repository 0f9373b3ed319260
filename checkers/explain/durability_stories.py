"""How it is told that a storage lost what it had acknowledged, or let a write past its fence."""

from __future__ import annotations

import math
from collections.abc import Callable

from checkers.conflict import Conflict, Rule
from checkers.explain.fault_phrases import restarted
from checkers.explain.narrator import Narrator, Story
from checkers.explain.phrases import content, what_was_read
from checkers.history.records import Commit, Op, Outcome
from checkers.history.restarts import restarts_of_storage

_NEEDS_NONE = "A fence compares tokens: a write without one gets past it, even long after the lock was lost."


def _gone_for_good(n: Narrator, conflict: Conflict) -> Story:
    lost = conflict.accused
    reads = [op for op in conflict.because if op.f == "read" and op.value != lost.value]
    seen = [op for op in conflict.because if op.f == "read" and op.value == lost.value]
    back = next(read for read in reads if (read.returned or 0) > lost.called)
    past = [op for op in conflict.because if op.returned is not None and op.returned < lost.called]
    after = [op for op in conflict.because if op.called > (back.returned or 0)]
    return Story(
        summary=(
            f"the storage lost {content(lost.value)} with token {lost.token}, which {n.whom(lost)} had"
            f" written to {lost.resource}: it went back to what it had held before"
        ),
        steps=(
            *(_was_there(n, op) for op in past[:1]),
            f"{n.who(lost)} sent {content(lost.value)} with token {lost.token} {n.sent(lost)}.",
            n.acceptance((lost, *seen)),
            *_restart(n, lost, back),
            (
                f"After that, a read by {n.whom(back)}, called {n.sent(back)}, returned {_shown(back)}, which"
                f" had been there before {content(lost.value)} was even sent."
            ),
            *(_after(n, op, lost) for op in after),
            (
                f"No client ever saw {content(lost.value)} again: it was gone for good, and no write had"
                " replaced it."
            ),
        ),
        proof=(*conflict.because, lost),
    )


def _was_there(n: Narrator, op: Op) -> str:
    if op.f == "read":
        return f"A read by {n.whom(op)} returned {_shown(op)} {n.answered(op)}, so it was there then."
    return n.acceptance((op,))


def _after(n: Narrator, op: Op, lost: Op) -> str:
    if op.f == "read":
        return (
            f"A later read by {n.whom(op)}, called {n.sent(op)}, returned {_shown(op)}: {content(lost.value)}"
            " and everything after it was gone."
        )
    return (
        f"Then {content(op.value)} with token {op.token} was sent by {n.whom(op)} {n.sent(op)} and took"
        f" effect: a fence that remembered token {lost.token} would have refused it."
    )


def _restart(n: Narrator, first: Op, then: Op | None) -> list[str]:
    """The restart of the storage that came between two operations, or after the first."""
    start = first.called if first.returned is None else first.returned
    end = math.inf if then is None or then.returned is None else then.returned
    return [
        f"{'Meanwhile' if fault.began < start else 'Then'} {restarted(fault)}"
        f" at {n.at(fault.began)} (line {fault.lines[0]})."
        for fault in restarts_of_storage(n.history.faults)
        if fault.overlaps(start, end)
    ][:1]


def _stray(n: Narrator, write: Op) -> Commit:
    """The commit of a write that was not sent as it is logged."""
    strays = () if n.log is None else n.log.strays
    return next(each.commit for each in strays if each.accused.index == write.index)


def _shown(read: Op) -> str:
    return what_was_read(read.value, read.token)


def _gone_from_log(n: Narrator, conflict: Conflict) -> Story:
    lost, reads = conflict.accused, conflict.because
    return Story(
        summary=(
            f"the storage lost {content(lost.value)} with token {lost.token}, which {n.whom(lost)} had"
            f" written to {lost.resource}: its own order of writes does not have it"
        ),
        steps=(
            f"{n.who(lost)} sent {content(lost.value)} with token {lost.token} {n.sent(lost)}.",
            *([n.acceptance((lost,))] if lost.outcome is Outcome.OK else []),
            *(n.acceptance((lost, read)) for read in reads),
            *_restart(n, lost, None),
            f"But it is {n.place(lost)}, which has every write that the storage still knows.",
        ),
        proof=(lost, *reads),
    )


def _mark_went_back(n: Narrator, conflict: Conflict) -> Story:
    read, higher = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"the storage of {read.resource} forgot token {higher.token}: {n.whom(read)} read {_shown(read)}"
            " after that"
        ),
        steps=(
            f"A read by {n.whom(higher)} returned {_shown(higher)} {n.answered(higher)}.",
            *_restart(n, higher, read),
            f"After that, {n.whom(read)} called a read {n.sent(read)}.",
            (
                f"It returned {_shown(read)} {n.answered(read)}, and the higher token did not come back:"
                " the storage's highest token had gone down."
            ),
        ),
        proof=(higher, read),
    )


def _passed_the_fence_by(n: Narrator, conflict: Conflict) -> Story:
    write, reads = conflict.accused, conflict.because
    place = n.place(write) if n.numbers(write) and write.outcome is not Outcome.OK else ""
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} to {write.resource} without a token, and the"
            " storage, which claims to be fenced, accepted it"
        ),
        steps=(
            f"{n.who(write)} sent {content(write.value)} without a token {n.sent(write)}.",
            *([f"{n.ending(write)}."] if not reads else []),
            *([f"It is {place} in the storage's own order: it took effect."] if place else []),
            *(f"A read by {n.whom(read)} returned it {n.answered(read)}: it took effect." for read in reads),
            _NEEDS_NONE,
        ),
        proof=(write, *reads),
    )


def _stored_without_a_token(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    if not write.lines:
        return Story(
            summary=(
                f"an unknown client wrote {content(write.value)} to {write.resource} without a token, and the"
                " storage, which claims to be fenced, accepted it"
            ),
            steps=(
                (
                    f"In the storage's own order, {content(write.value)} is number"
                    f" {_stray(n, write).seq}, and has no token. No client sent it there."
                ),
                _NEEDS_NONE,
            ),
            proof=conflict.because,
        )
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource}, and"
            " the storage, which claims to be fenced, accepted it without the token"
        ),
        steps=(
            f"{n.who(write)} sent {content(write.value)} with token {write.token} {n.sent(write)}.",
            f"In the storage's own order, it is number {_stray(n, write).seq}, and has no token.",
            _NEEDS_NONE,
        ),
        proof=(write, *conflict.because),
    )


def _never_sent(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    commit = _stray(n, write)
    beside = "".join(f", next to {n.stored(op)} (sent {n.sent(op)})" for op in conflict.because)
    what = n.stored(write)
    did = "fenced" if commit.fence else "wrote"
    return Story(
        summary=(
            f"the storage's own order of writes to {write.resource} has {what}, which no client sent there"
        ),
        steps=(
            f"In the storage's own order, {what} is number {commit.seq}{beside}.",
            (
                f"The history has no {'such fence' if commit.fence else f'write of {what}'} on"
                f" {write.resource}: somebody else {did} there, or one of the two records is wrong."
            ),
        ),
        proof=conflict.because,
    )


def _logged_otherwise(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    commit = _stray(n, write)
    return Story(
        summary=(
            f"{n.whom(write)} sent {content(write.value)} with token {write.token} to {write.resource}, and"
            f" the storage's own order has it with token {commit.token} on {commit.resource}"
        ),
        steps=(
            f"{n.who(write)} sent {content(write.value)} with token {write.token} {n.sent(write)}.",
            (
                f"In the storage's own order, it is number {commit.seq}, on {commit.resource} and with token"
                f" {commit.token}: what was stored is not what was sent."
            ),
        ),
        proof=(write, *conflict.because),
    )


LOSS_STORIES: dict[Rule, Callable[[Narrator, Conflict], Story]] = {
    Rule.GONE_FOR_GOOD: _gone_for_good,
    Rule.GONE_FROM_LOG: _gone_from_log,
    Rule.MARK_WENT_BACK: _mark_went_back,
    Rule.PASSED_THE_FENCE_BY: _passed_the_fence_by,
    Rule.STORED_WITHOUT_A_TOKEN: _stored_without_a_token,
    Rule.NEVER_SENT: _never_sent,
    Rule.LOGGED_OTHERWISE: _logged_otherwise,
}

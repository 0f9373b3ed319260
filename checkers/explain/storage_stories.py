"""How each breach of a storage's rules is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from checkers.conflict import Conflict, Rule
from checkers.explain.cycles import Question, cycle
from checkers.explain.narrator import Narrator, Story
from checkers.explain.phrases import content, what_was_read
from checkers.history.records import WRITES, Op


def _stale(n: Narrator, conflict: Conflict, newer: Op, question: Question) -> Story:
    """A stale write: who held the lock, what held it up, who came between, and why it came too late."""
    write = conflict.accused
    same = newer.token == write.token
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource} after"
            f" the storage had {_had(newer)} with {'the same' if same else 'the newer'} token {newer.token}"
        ),
        steps=(
            *n.grant_steps(*n.granted(write.resource, write.token)),
            *n.fault_steps(write),
            *([] if same else n.grant_steps(*n.granted(write.resource, newer.token))),
            *cycle(n, question, _took_the_older(write, newer)),
        ),
    )


def _had(newer: Op) -> str:
    return f"accepted {content(newer.value)}" if newer.f in WRITES else "been fenced"


def _took_the_older(write: Op, newer: Op) -> str:
    if newer.f == "fence":
        return f"the storage accepted token {write.token} after it had been fenced with token {newer.token}"
    if newer.token == write.token:
        return f"the storage accepted token {write.token} twice"
    return (
        "outdated data replaced newer data: the storage accepted the older token"
        f" {write.token} after the newer token {newer.token}"
    )


def _stale_as_seen(n: Narrator, conflict: Conflict) -> Story:
    newer = next(op for op in conflict.because if op.f in {*WRITES, "fence"})
    return _stale(n, conflict, newer, Question(proof=conflict.proof, fenced=True, accused=conflict.accused))


def _used_again(n: Narrator, conflict: Conflict) -> Story:
    """Of two writes with one token, that came too late which surely came second; or one of the two."""
    write, other = conflict.accused, conflict.because[0]
    story = _stale_as_seen(n, conflict)
    first = [op for op in conflict.proof if op is other or (op.f == "read" and op.value == other.value)]
    last = [op for op in conflict.proof if op is write or (op.f == "read" and op.value == write.value)]
    if any(one.precedes(two) for one in first for two in last):
        return story
    summary = (
        f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource}, and"
        f" {content(other.value)} was accepted with the same token, which a strict fence accepts only once"
    )
    return replace(story, summary=summary)


def _logged_after_newer(n: Narrator, conflict: Conflict) -> Story:
    write, newer = conflict.accused, conflict.because[0]
    log = (newer, write)
    story = _stale(n, conflict, newer, Question(proof=log, fenced=True, timed=False, log=log, accused=write))
    again = _again(n, write, newer)
    if not again:
        return story
    what = f"{content(write.value)} with token {write.token} to {write.resource} by {n.whom(write)}"
    which = "the same" if newer.token == write.token else "the newer"
    had = f"the storage had {_had(newer)} with {which} token {newer.token}"
    summary = f"the write of {what} took effect once more after {had}"
    return replace(story, summary=summary, steps=(*again, *story.steps))


def _again(n: Narrator, write: Op, newer: Op) -> tuple[str, ...]:
    """Of a write that stands before a newer one and after it, that only the latter place is stale."""
    numbers = n.numbers(write)
    early = [number for number in numbers if number < n.numbers(newer)[0]]
    if not early:
        return ()
    return (
        (
            f"{n.who(write)} sent {content(write.value)} once, {n.sent(write)}, and it took effect"
            f" {_times(len(numbers))}: in the storage's own order it is {_listed(numbers)}."
        ),
        (
            f"Number {early[0]} came before {n.stored(newer)}, in its turn; number {numbers[-1]} came after"
            " it: that one is stale."
        ),
    )


def _below_the_start(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    start = n.history.header.initial_token
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource},"
            f" whose token was {start} before the run"
        ),
        steps=(
            *n.fault_steps(write),
            *cycle(
                n,
                Question(proof=conflict.proof, fenced=True, accused=conflict.accused),
                f"the storage accepted token {write.token} although its token was already {start}",
            ),
        ),
    )


def _older_than_accepted(n: Narrator, conflict: Conflict) -> Story:
    read, newer = conflict.accused, conflict.because
    return Story(
        summary=(
            f"{n.whom(read)} read {what_was_read(read.value, read.token)} from {read.resource}"
            f" although a write with the newer token {newer[0].token} had been accepted before"
        ),
        steps=cycle(
            n,
            Question(proof=conflict.proof, fenced=True, accused=conflict.accused),
            f"the read returned {what_was_read(read.value, read.token)} although token {newer[0].token} had"
            " been accepted before",
        ),
    )


def _went_back(n: Narrator, conflict: Conflict) -> Story:
    read = conflict.accused
    others = [op.value for op in conflict.because if op.value != read.value]
    return Story(
        summary=(
            f"{n.whom(read)} read {content(read.value)} from {read.resource} after {content(others[-1])} had"
            " replaced it"
        ),
        steps=cycle(
            n,
            Question(proof=conflict.proof, fenced=False, accused=conflict.accused),
            "a replaced value came back, although each value is written once",
        ),
    )


def _against_the_log(n: Narrator, conflict: Conflict) -> Story:
    op = conflict.accused
    stored = (each for each in conflict.because if each.f != "read" and each.index != op.index)
    later = next(each for each in stored if each.f == "fence" or each.value != op.value)
    if op.f == "read":
        summary = (
            f"{n.whom(op)} read {content(op.value)} from {op.resource} although {n.stored(later)}, which"
            " the storage's own order puts after it, had been accepted before"
        )
        moral = f"the read returned {content(op.value)} although {n.stored(later)} had replaced it"
    else:
        did = "fenced" if op.f == "fence" else f"wrote {content(op.value)} to"
        summary = (
            f"{n.whom(op)} {did} {op.resource} after {n.stored(later)} had been"
            " accepted, and the storage's own order puts it before"
        )
        moral = f"the storage's own order has {n.stored(op)} before what was accepted earlier"
    by = conflict.because[-1]
    if by.f == "fence" and not n.numbers(by):
        return Story(summary=summary, steps=(*_after_a_fence(n, conflict, by), f"So {moral}."))
    return Story(
        summary=summary,
        steps=cycle(
            n,
            Question(proof=conflict.proof, fenced=False, log=n.logged(conflict), accused=conflict.accused),
            moral,
        ),
    )


def _after_a_fence(n: Narrator, conflict: Conflict, fence: Op) -> tuple[str, ...]:
    """What an acknowledged fence says of the storage's own order, which has its token from something else."""
    op = conflict.accused
    stored = (each for each in conflict.because if each.f == "fence" or each.value != op.value)
    reached = max((each for each in stored if n.numbers(each)), key=lambda each: n.numbers(each)[0])
    place = f", and it is {n.place(op, first=True)} there" if n.numbers(op) else ""
    answered = n.answered(fence)
    return (
        (
            f"The storage acknowledged to {n.whom(fence)} a fence with token {fence.token} {answered}:"
            f" by then its own order must have had {n.stored(reached)} ({n.place(reached, first=True)})."
        ),
        f"{n.began(op)[:1].upper()}{n.began(op)[1:]}{place}.",
    )


def _never_logged(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    return Story(
        summary=(
            f"the storage told {n.whom(write)} that {content(write.value)}{n.with_token(write)} was"
            f" written to {write.resource}, but never stored it"
        ),
        steps=(
            f"{n.who(write)} sent {content(write.value)}{n.with_token(write)} {n.sent(write)}.",
            f"The storage said ok {n.answered(write)}, so it must have stored it.",
            f"But {content(write.value)} is {n.place(write)}, which has every write that was stored.",
        ),
    )


def _failed_but_logged(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    return Story(
        summary=_failed_and_took_effect(n, write),
        steps=(
            *_failed(n, write),
            f"But {content(write.value)} is {n.place(write)} in the storage's own order of stored writes.",
        ),
    )


def _failed_but_read(n: Narrator, conflict: Conflict) -> Story:
    write, read = conflict.accused, conflict.because[0]
    return Story(
        summary=_failed_and_took_effect(n, write),
        steps=(
            *_failed(n, write),
            (
                f"But {n.whom(read)} read {content(read.value)} {n.answered(read)}, and no other write has"
                " that value, so it took effect."
            ),
        ),
    )


def _failed_and_took_effect(n: Narrator, write: Op) -> str:
    return (
        f"{n.whom(write)} was told that its write of {content(write.value)}{n.with_token(write)}"
        f" to {write.resource} had failed, but it took effect"
    )


def _failed(n: Narrator, write: Op) -> tuple[str, ...]:
    return (
        f"{n.who(write)} sent {content(write.value)}{n.with_token(write)} {n.sent(write)}.",
        (
            f"It was told that this failed ({write.error}) {n.answered(write)}: after that answer it"
            " must never take effect."
        ),
    )


def _logged_twice(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    numbers = n.numbers(write)
    return Story(
        summary=(
            f"the write of {content(write.value)}{n.with_token(write)} to {write.resource} by"
            f" {n.whom(write)} took effect {_times(len(numbers))}"
        ),
        steps=(
            f"{n.who(write)} sent {content(write.value)} once, {n.sent(write)}.",
            (
                f"In the storage's own order it is {_listed(numbers)}:"
                " something between the client and the storage repeated it."
            ),
        ),
    )


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"  # noqa: PLR2004 - a word of its own


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(f"number {number}" for number in numbers)


def _after_newer_grant(n: Narrator, conflict: Conflict) -> Story:
    write, grant = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource}"
            f" after token {grant.token} had been granted to {n.whom(grant)}, which had not yet"
            " written"
        ),
        steps=(
            *n.grant_steps(grant),
            f"{n.who(write)} sent {content(write.value)} with the older token {write.token} {n.sent(write)}.",
            "It was accepted: the storage had not seen the newer token yet, so no fence could tell.",
        ),
    )


def _value_of_nobody(n: Narrator, conflict: Conflict) -> Story:
    read = conflict.accused
    return Story(
        summary=(
            f"{n.whom(read)} read {content(read.value)}{n.with_token(read)} from {read.resource},"
            " which no client had written there"
        ),
        steps=(
            f"{n.who(read)} read {content(read.value)}{n.with_token(read)} {n.answered(read)}.",
            (
                f"No write of {content(read.value)} to {read.resource} was ever called, and it is not the"
                " initial value."
            ),
        ),
        others=tuple(op for op in [n.index.writer(read)] if op is not None),
    )


def _wrong_token(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(read)} read {content(read.value)} from {read.resource} with token {read.token},"
            f" but it was written with token {write.token}"
        ),
        steps=(
            f"{n.who(write)} sent {content(write.value)} with token {write.token} {n.sent(write)}.",
            (
                f"{n.who(read)} read {content(read.value)} with token {read.token} {n.answered(read)}, but"
                " each value is written once: this value and this token do not belong together."
            ),
        ),
    )


def _read_before_written(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    return Story(
        summary=f"{n.whom(read)} read {content(read.value)} from {read.resource} before it was written",
        steps=cycle(
            n,
            Question(proof=conflict.proof, fenced=False, accused=conflict.accused),
            f"nobody can read {content(write.value)} before it is written",
        ),
    )


def _read_but_not_logged(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(read)} read {content(read.value)} from {read.resource}, which the storage's own"
            " order of writes does not have"
        ),
        steps=(
            f"{n.who(write)} sent {content(write.value)}{n.with_token(write)} {n.sent(write)}.",
            f"{n.who(read)} read it {n.answered(read)}, so it took effect.",
            f"But it is {n.place(write)}, which has every write that was stored.",
        ),
    )


STORAGE_STORIES: dict[Rule, Callable[[Narrator, Conflict], Story]] = {
    Rule.SENT_AFTER_NEWER: _stale_as_seen,
    Rule.SEEN_AFTER_NEWER: _stale_as_seen,
    Rule.LOGGED_AFTER_NEWER: _logged_after_newer,
    Rule.SAME_TOKEN_TWICE: _used_again,
    Rule.BELOW_THE_START: _below_the_start,
    Rule.OLDER_THAN_ACCEPTED: _older_than_accepted,
    Rule.WENT_BACK: _went_back,
    Rule.AGAINST_THE_LOG: _against_the_log,
    Rule.NEVER_LOGGED: _never_logged,
    Rule.FAILED_BUT_LOGGED: _failed_but_logged,
    Rule.FAILED_BUT_READ: _failed_but_read,
    Rule.LOGGED_TWICE: _logged_twice,
    Rule.AFTER_NEWER_GRANT: _after_newer_grant,
    Rule.VALUE_OF_NOBODY: _value_of_nobody,
    Rule.VALUE_WITH_WRONG_TOKEN: _wrong_token,
    Rule.READ_BEFORE_WRITTEN: _read_before_written,
    Rule.READ_BUT_NOT_LOGGED: _read_but_not_logged,
}

"""How each breach of a storage's rules is told."""

from __future__ import annotations

from collections.abc import Callable

from checkers.conflict import Conflict, Rule
from checkers.narrator import Narrator, Story
from checkers.records import Op


def _stale(n: Narrator, write: Op, newer: tuple[Op, ...], ending: str, *proof: Op) -> Story:
    """A stale write: who held the lock, what held it up, who came between, what happened."""
    higher = next(op for op in newer if op.token is not None)
    by = newer[0]
    successor = n.granted(write.resource, higher.token)
    same = higher.token == write.token
    relation = "the same" if same else "the newer"
    what = f"accepted {by.value!r}" if by.f == "write" else "been fenced"
    accepted = (newer[-1].returned or 0, n.acceptance(newer))
    sent = (
        write.called,
        (
            f"{n.who(write)} sent {write.value!r} with {'the same' if same else 'the older'}"
            f" token {write.token} {n.sent(write)}."
        ),
    )
    steps = [
        *n.grant_steps(*n.granted(write.resource, write.token)),
        *n.fault_steps(write),
        *([] if same else n.grant_steps(*successor)),
        *(step for _, step in sorted([accepted, sent])),
        ending,
    ]
    return Story(
        summary=(
            f"{n.whom(write)} wrote {write.value!r} with token {write.token} to {write.resource}"
            f" after the storage had {what} with {relation} token {higher.token}"
        ),
        steps=tuple(steps),
        proof=(*([] if same else successor), *newer, *proof, write),
    )


def _sent_after_newer(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    ending = (
        f"{n.ending(write)}, and it took effect, although token {write.token} is"
        f" {_not_above(write, conflict.because[0])}: a storage that fences refuses it."
    )
    return _stale(n, write, conflict.because, ending)


def _not_above(write: Op, newer: Op) -> str:
    return f"below {newer.token}" if write.token != newer.token else "one that had been used"


def _seen_after_newer(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    *newer, read = conflict.because
    ending = (
        f"A read by {n.whom(read)}, called after that {n.sent(read)}, returned {read.value!r}:"
        f" so the write with the older token {write.token} took effect after the one with"
        f" token {newer[0].token} and overwrote it."
    )
    return _stale(n, write, tuple(newer), ending, read)


def _logged_after_newer(n: Narrator, conflict: Conflict) -> Story:
    write, newer = conflict.accused, conflict.because[0]
    ending = (
        f"{n.ending(write)}. In the storage's own order {newer.value!r} is {n.place(newer)} and"
        f" {write.value!r} is {n.place(write)}: token {write.token} after token {newer.token}."
    )
    return _stale(n, write, (newer,), ending)


def _same_token_twice(n: Narrator, conflict: Conflict) -> Story:
    write, other = conflict.accused, conflict.because[0]
    ending = (
        f"{n.ending(write)}. Both took effect, and whichever came second used a token that had"
        " been used: a strict fence lets one write through for each token."
    )
    return _stale(n, write, (other,), ending)


def _below_the_start(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    start = n.history.header.initial_token
    return Story(
        summary=(
            f"{n.whom(write)} wrote {write.value!r} with token {write.token} to {write.resource},"
            f" whose token had been {start} before the run"
        ),
        steps=(
            f"The storage stood at token {start} before the run (line 1).",
            *n.fault_steps(write),
            f"{n.who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"{n.ending(write)}, and it took effect: token {write.token} is not above {start}.",
        ),
        proof=(write,),
    )


def _older_than_accepted(n: Narrator, conflict: Conflict) -> Story:
    read, newer = conflict.accused, conflict.because
    return Story(
        summary=(
            f"{n.whom(read)} read {read.value!r} with token {read.token} from {read.resource}"
            f" although a write with the newer token {newer[0].token} had been accepted before"
        ),
        steps=(
            n.acceptance(newer),
            f"After that, {n.whom(read)} called a read {n.sent(read)}.",
            (
                f"It returned {read.value!r} with the older token {read.token} {n.answered(read)}: the"
                " newer value was not seen, or an older write had taken its place."
            ),
        ),
        proof=(*newer, read),
    )


def _went_back(n: Narrator, conflict: Conflict) -> Story:
    read, others = conflict.accused, conflict.because
    replaced = [op for op in others if op.value != read.value or op.f not in {"read", "write"}]
    own = [op for op in others if op not in replaced]
    later = replaced[-1].value if replaced else None
    return Story(
        summary=(f"{n.whom(read)} read {read.value!r} from {read.resource} after {later!r} had replaced it"),
        steps=(
            *(f"{n.acceptance((op,))}" for op in own),
            *(_of_other(n, op) for op in replaced),
            f"After that, {n.whom(read)} called a read {n.sent(read)}.",
            (
                f"It returned {read.value!r} again {n.answered(read)}: a value that was replaced"
                " does not come back, because each value is written once."
            ),
        ),
        proof=(*own, *replaced, read),
    )


def _of_other(n: Narrator, op: Op) -> str:
    if op.f == "read":
        return f"{n.who(op)} called a read {n.sent(op)}, and it returned {op.value!r} {n.answered(op)}."
    return f"{n.who(op)} sent its write of {op.value!r} {n.sent(op)}; it ended {n.answered(op)}."


def _against_the_log(n: Narrator, conflict: Conflict) -> Story:
    op, others = conflict.accused, conflict.because
    by = others[-1]
    if op.f == "read":
        summary = (
            f"{n.whom(op)} read {op.value!r} from {op.resource} although {by.value!r}, which the"
            " storage's own order puts after it, had been accepted before"
        )
    else:
        summary = (
            f"{n.whom(op)} wrote {op.value!r} to {op.resource} after {by.value!r} had been accepted,"
            " and the storage's own order puts it before"
        )
    return Story(
        summary=summary,
        steps=(
            f"In the storage's own order, {by.value!r} comes after {op.value!r}.",
            n.acceptance((by,)),
            f"After that, {n.whom(op)} called its {op.f} of {op.value!r} {n.sent(op)}.",
            f"So {op.value!r} was there after {by.value!r}, and the storage's order says before.",
        ),
        proof=(*others, op),
    )


def _no_cause(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    strict = n.history.header.policy == "strict"
    bound = f"{write.token} or more" if strict else f"more than {write.token}"
    return Story(
        summary=(
            f"{n.whom(write)} was told that its write of {write.value!r} with token {write.token}"
            f" to {write.resource} was stale, though no newer token can have been accepted"
        ),
        steps=(
            f"{n.who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"The storage refused it as stale {n.answered(write)}.",
            (
                f"But no write with token {bound} can have taken effect before this refusal came"
                " back: those that did, if any, were called later or stood after one that was."
            ),
        ),
        proof=(write,),
    )


def _never_logged(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    return Story(
        summary=(
            f"the storage told {n.whom(write)} that {write.value!r} with token {write.token} was"
            f" written to {write.resource}, and never stored it"
        ),
        steps=(
            f"{n.who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"The storage said ok {n.answered(write)}.",
            f"But {write.value!r} stands {n.place(write)}, which has every write that was stored.",
        ),
        proof=(write,),
    )


def _failed_but_logged(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    return Story(
        summary=(
            f"{n.whom(write)} was told that its write of {write.value!r} with token {write.token}"
            f" to {write.resource} had failed, and it took effect"
        ),
        steps=(
            f"{n.who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"{n.ending(write)}: it must never take effect.",
            f"But {write.value!r} is {n.place(write)} in the storage's own order of stored writes.",
        ),
        proof=(write,),
    )


def _failed_but_read(n: Narrator, conflict: Conflict) -> Story:
    write, read = conflict.accused, conflict.because[0]
    story = _failed_but_logged(n, conflict)
    return Story(
        summary=story.summary,
        steps=(
            *story.steps[:2],
            f"But a read by {n.whom(read)} returned {read.value!r} {n.answered(read)}.",
        ),
        proof=(write, read),
    )


def _logged_twice(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    log = n.log
    places = () if log is None else log.places[write.index]
    numbers = [] if log is None else [str(log.commits[place].seq) for place in places]
    return Story(
        summary=(
            f"the write of {write.value!r} with token {write.token} to {write.resource} by"
            f" {n.whom(write)} took effect {len(numbers)} times"
        ),
        steps=(
            f"{n.who(write)} sent {write.value!r} once, {n.sent(write)}.",
            (
                f"In the storage's own order it stands as numbers {' and '.join(numbers)}:"
                " something between the two repeated it."
            ),
        ),
        proof=(write,),
    )


def _after_newer_grant(n: Narrator, conflict: Conflict) -> Story:
    write, grant = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(write)} wrote {write.value!r} with token {write.token} to {write.resource}"
            f" after token {grant.token} had been granted to {n.whom(grant)}, which had not yet"
            " written"
        ),
        steps=(
            *n.grant_steps(grant),
            f"{n.who(write)} sent {write.value!r} with the older token {write.token} {n.sent(write)}.",
            "It was accepted: the storage had not met the newer token yet, so no fence could tell.",
        ),
        proof=(grant, write),
    )


def _value_of_nobody(n: Narrator, conflict: Conflict) -> Story:
    read = conflict.accused
    return Story(
        summary=(
            f"{n.whom(read)} read {read.value!r} with token {read.token} from {read.resource},"
            " which nobody had written there"
        ),
        steps=(
            f"A read by {n.whom(read)} returned {read.value!r} with token {read.token} {n.answered(read)}.",
            (
                f"No write of {read.value!r} to {read.resource} was ever called, and it is not what"
                " stood there before the run."
            ),
        ),
        proof=(read,),
    )


def _wrong_token(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(read)} read {read.value!r} from {read.resource} with token {read.token},"
            f" but it was written with token {write.token}"
        ),
        steps=(
            f"{n.who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            (
                f"A read by {n.whom(read)} returned {read.value!r} with token {read.token}"
                f" {n.answered(read)}: value and token do not belong together."
            ),
        ),
        proof=(write, read),
    )


def _read_before_written(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    return Story(
        summary=f"{n.whom(read)} read {read.value!r} from {read.resource} before it was written",
        steps=(
            f"A read by {n.whom(read)} returned {read.value!r} {n.answered(read)}.",
            f"Only after that did {n.whom(write)} send the write of {write.value!r} {n.sent(write)}.",
        ),
        proof=(read, write),
    )


def _read_but_not_logged(n: Narrator, conflict: Conflict) -> Story:
    read, write = conflict.accused, conflict.because[0]
    return Story(
        summary=(
            f"{n.whom(read)} read {read.value!r} from {read.resource}, which the storage's own"
            " order of writes does not have"
        ),
        steps=(
            f"{n.who(write)} sent {write.value!r} with token {write.token} {n.sent(write)}.",
            f"A read by {n.whom(read)} returned it {n.answered(read)}, so it took effect.",
            f"But it stands {n.place(write)}.",
        ),
        proof=(write, read),
    )


def _false_or_stale(n: Narrator, conflict: Conflict) -> Story:
    op, rejected = conflict.accused, conflict.because[0]
    did = {"read": "read", "write": "wrote"}.get(op.f, "fenced")
    return Story(
        summary=(
            f"either the storage wrongly refused {rejected.value!r} with token {rejected.token}"
            f" on {op.resource}, or what {n.whom(op)} {did} afterwards with token {op.token} was"
            " stale"
        ),
        steps=(
            f"{n.who(rejected)} sent {rejected.value!r} with token {rejected.token} {n.sent(rejected)}.",
            (
                f"The storage refused it as stale {n.answered(rejected)}. If that was right, a token"
                f" above {op.token} had been accepted by then."
            ),
            (
                f"After that, {n.whom(op)} called its {op.f} {n.sent(op)}, and it took effect with the"
                f" lower token {op.token}."
            ),
            "Both cannot be right: the refusal was false, or the later operation was stale.",
        ),
        proof=(rejected, op),
    )


STORAGE_STORIES: dict[Rule, Callable[[Narrator, Conflict], Story]] = {
    Rule.SENT_AFTER_NEWER: _sent_after_newer,
    Rule.SEEN_AFTER_NEWER: _seen_after_newer,
    Rule.LOGGED_AFTER_NEWER: _logged_after_newer,
    Rule.SAME_TOKEN_TWICE: _same_token_twice,
    Rule.BELOW_THE_START: _below_the_start,
    Rule.OLDER_THAN_ACCEPTED: _older_than_accepted,
    Rule.WENT_BACK: _went_back,
    Rule.AGAINST_THE_LOG: _against_the_log,
    Rule.NO_CAUSE: _no_cause,
    Rule.NEVER_LOGGED: _never_logged,
    Rule.FAILED_BUT_LOGGED: _failed_but_logged,
    Rule.FAILED_BUT_READ: _failed_but_read,
    Rule.LOGGED_TWICE: _logged_twice,
    Rule.AFTER_NEWER_GRANT: _after_newer_grant,
    Rule.VALUE_OF_NOBODY: _value_of_nobody,
    Rule.VALUE_WITH_WRONG_TOKEN: _wrong_token,
    Rule.READ_BEFORE_WRITTEN: _read_before_written,
    Rule.READ_BUT_NOT_LOGGED: _read_but_not_logged,
    Rule.FALSE_OR_STALE: _false_or_stale,
}

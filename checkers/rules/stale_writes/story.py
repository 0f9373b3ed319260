"""The story of a stale write: who held the lock, what delayed the holder, who came between."""

from __future__ import annotations

from collections.abc import Iterable

from checkers.explain.causes import of_late_write
from checkers.explain.conflict import Breach, Conflict
from checkers.explain.cycles import Question, cycle
from checkers.explain.narrator import Narrator
from checkers.explain.story import Cause, Step, Story, capitalized, step
from checkers.explain.telling import fault_steps, happened, took, was_held_up
from checkers.history.faults import Fault
from checkers.history.records import WRITES, Op
from checkers.text.printable import content


def stale_story(n: Narrator, write: Op, newer: Op, proof: Iterable[Step]) -> Story:
    """Tell who held the lock, what delayed the holder, who came between, and why the write was too late."""
    cause = of_late_write(n, write, newer)
    same = newer.token == write.token
    *because, therefore = proof
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource} after"
            f" the storage had {had(newer)} with {'the same' if same else 'the newer'} token {newer.token}"
        ),
        sentences=short_story(n, write, newer, cause),
        steps=(
            *n.grant_steps(*n.granted(write)),
            *fault_steps(n, cause, write),
            *([] if same else n.grant_steps(*n.granted(newer))),
            *because,
            *_way_past_the_fence(n, write, newer),
            therefore,
        ),
        cause=cause,
    )


def short_story(n: Narrator, write: Op, newer: Op, cause: Cause | None) -> tuple[str, ...]:
    """Return the short story of a write that came after a write of a later hold."""
    own, whom = n.grant_behind(write), n.whom(write)
    fault = None if cause is None else cause.fault
    came = _came_after(n, write, newer)
    late = f"Then {whom}'s older write {came}."
    between = _came_between(n, newer)
    if newer.token is not None and newer.token == write.token:
        late = f"Then {whom} wrote with the same token, which a strict fence accepts only once."
    if fault is not None and fault.client is None:
        return (capitalized(between), happened(n, fault), late)
    held_up = "" if own is None else was_held_up(n, cause, own)
    if fault is None:
        between = capitalized(f"{held_up}; {between}" if held_up else between)
        return ("" if own is None else took(n, own), between, late)
    if fault.kind == "pause" and fault.healed <= write.over:
        late = f"Then {whom} woke up, and its older write {came}."
    during = f"{held_up}; {_when(n, newer, fault)} {between}"
    return ("" if own is None else took(n, own), during, late)


def _when(n: Narrator, newer: Op, fault: Fault) -> str:
    """Say whether the lock was granted again while a fault was in force, or only afterwards."""
    grant = n.grant_behind(newer)
    first = newer.called if grant is None else grant.returned or newer.called
    return "meanwhile" if first <= fault.healed else "then"


def _came_after(n: Narrator, write: Op, newer: Op) -> str:
    """Say what a stale write did to a newer one: others may have come between the two."""
    if newer.f == "fence":
        return "came after the newer fence"
    before = n.stored_before(write)
    token, least = (None if before is None else before.token), (write.token or 0) + 1
    return "replaced the newer one" if token is None or token >= least else "came after the newer one"


def _came_between(n: Narrator, newer: Op) -> str:
    """Say who got the lock later, and wrote or fenced first."""
    grant = n.grant_behind(newer)
    did = "fenced" if newer.f == "fence" else "wrote"
    if grant is None or newer.token is None:
        got = "" if grant is None else "got the lock and "
    else:
        got = f"got token {newer.token} and "
    return f"{n.whom(newer)} {got}{did}."


def _way_past_the_fence(n: Narrator, write: Op, newer: Op) -> Iterable[Step]:
    """Say whether the fence was missing on this path, or compared the token too early."""
    if not n.history.header.fenced or newer.token == write.token or not write.lines or not newer.lines:
        return
    if newer.returned is not None and newer.returned < write.called:
        yield step(
            f"The newer token had been accepted {n.answered(newer)}, before the older write was sent"
            f" {n.sent(write)}: no fence on its path stopped it.",
            newer,
            write,
        )
    elif write.returned is None or newer.called <= write.returned:
        both = (
            f"The newer token was sent {n.sent(newer)}, while the older write was in flight"
            if newer.called >= write.called
            else f"The older write was sent {n.sent(write)}, while the newer token was in flight"
        )
        restarted = n.fault_on("storage", min(newer.called, write.called), write.over)
        compared = (
            "if the storage compared the tokens at all, it did so in an earlier step than it wrote"
            if restarted is None
            else "if the storage compared the tokens at all, it had lost the newer one, or did so in an"
            " earlier step than it wrote"
        )
        yield step(f"{both}: {compared}.", newer, write)


def had(newer: Op) -> str:
    """Say what the storage had done with the newer token."""
    return f"accepted {content(newer.value)}" if newer.f in WRITES else "been fenced"


def took_the_older(write: Op, newer: Op) -> str:
    """State the contradiction that ends a proof."""
    if newer.f == "fence":
        return f"the storage accepted token {write.token} after it had been fenced with token {newer.token}"
    if newer.token == write.token:
        return f"the storage accepted token {write.token} twice"
    return (
        "outdated data replaced newer data: the storage accepted the older token"
        f" {write.token} after the newer token {newer.token}"
    )


def stale(n: Narrator, conflict: Conflict, newer: Op, question: Question) -> Story:
    """Tell the story, and prove it by the answers to a question."""
    write = conflict.accused
    return stale_story(n, write, newer, cycle(n, question, took_the_older(write, newer)))


def stale_as_seen(n: Narrator, conflict: Conflict) -> Story:
    """Tell the story of a write that clients saw; `because` begins with the proof of the newer token."""
    newer = next(op for op in conflict.because if op.f in {*WRITES, "fence"})
    return stale(n, conflict, newer, Question(proof=conflict.proof, fenced=True, accused=conflict.accused))


def _below_the_start(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    cause = of_late_write(n, write)
    start = n.history.header.initial_token
    wrote = f"wrote {content(write.value)} with token {write.token}"
    return Story(
        summary=(f"{n.whom(write)} {wrote} to {write.resource}, whose token was {start} before the run"),
        steps=(
            *fault_steps(n, cause, write),
            *cycle(
                n,
                Question(proof=conflict.proof, fenced=True, accused=conflict.accused),
                f"the storage accepted token {write.token} although its token was already {start}",
            ),
        ),
        cause=cause,
        sentences=(
            f"Before the run, {write.resource} had token {start}.",
            f"{n.who(write)} {wrote}, and the storage accepted it.",
        ),
    )


# because: what proves that a newer token had been accepted
SENT_AFTER_NEWER = Breach("stale-write", "after-newer", stale_as_seen)
BELOW_THE_START = Breach("stale-write", "below-the-start", _below_the_start)

"""Non-linearizable: the log has a commit that no client sent in that form.

No client sent the value, or it was sent with another token or to another resource. A
truncated history does not say who sent the operations it lacks. A write that
lost its token on the way to a fenced storage is an unfenced-write instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, capitalized, step
from checkers.facts.evidence import Evidence
from checkers.text.printable import content


def mismatched_commits(evidence: Evidence) -> Iterator[Conflict]:
    """Yield the commits that no client sent as they were stored."""
    log, history = evidence.log, evidence.history
    if log is None:
        return
    positions = log.unmatched_positions
    if history.header.fenced:
        positions = positions[~log.lost_their_tokens[positions]]
    if history.is_cut_short:
        positions = positions[log.was_sent[positions]]
    for entry in map(log.entry, positions.tolist()):
        breach = NEVER_SENT if entry.sent is None else LOGGED_OTHERWISE
        yield breach.conflict(entry.accused, entry.near)


def _never_sent(n: Narrator, conflict: Conflict) -> Story:
    write, near = conflict.accused, conflict.because
    commit, what = n.commit(write), n.stored(write)
    other = "".join(f"; {n.stored(op)} (sent {n.sent(op)}) is {n.place(op)}" for op in near)
    kind, did = ("such fence", "fenced") if commit.fence else (f"write of {what}", "wrote")
    wrong = "one of the two records is wrong"
    has = f"the storage's own order of writes to {write.resource} has {what}"
    return Story(
        summary=f"{has}, which no client sent there",
        steps=(
            step(f"In the storage's own order, {what} is number {commit.seq}{other}.", write, *near),
            step(f"The history has no {kind} on {write.resource}: another program {did} there, or {wrong}."),
        ),
        sentences=(
            f"{capitalized(has)}.",
            f"No client of this run sent it there: another program did, or {wrong}.",
        ),
    )


def _logged_otherwise(n: Narrator, conflict: Conflict) -> Story:
    write = conflict.accused
    commit = n.commit(write)
    sent = f"sent {content(write.value)} with token {write.token} to {write.resource}"
    has = f"has it with token {commit.token} on {commit.resource}"
    return Story(
        summary=f"{n.whom(write)} {sent}, and the storage's own order {has}",
        steps=(
            n.sent_step(write),
            step(
                f"In the storage's own order, it is number {commit.seq}, on {commit.resource} and with token"
                f" {commit.token}: what was stored is not what was sent."
            ),
        ),
        sentences=(f"{n.who(write)} {sent}.", f"The storage {has}."),
    )


# because: a write that is near it in the log
NEVER_SENT = Breach("non-linearizable", "never-sent", _never_sent)
# because: a write that is near it in the log
LOGGED_OTHERWISE = Breach("non-linearizable", "logged-otherwise", _logged_otherwise)

CHECKER = Checker(
    "mismatched-commits", "committed", mismatched_commits, ("non-linearizable",), compares_only=True
)

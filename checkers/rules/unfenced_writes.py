"""Unfenced-write: a storage that is said to be fenced accepted a write without a token.

Such a write takes no part in the order of tokens: it does not raise the mark, and no mark can refuse it. It
shows only that its value was there. A write that was sent with a token and logged without one also got past
the fence, but it is a write of that token, and stale if it comes after a newer one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.effects import ending
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, step
from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.log_columns import LogColumns
from checkers.history.columns import OK
from checkers.history.ranks import stable_order
from checkers.history.records import Outcome
from checkers.rules.short_histories import attempts_if_right
from checkers.text.printable import content

_ACCEPTED = "the storage, which claims to be fenced, accepted it"
_COMPARES_TOKENS = step(
    "A fence compares tokens: a write without one gets past it, even long after the lock was lost."
)


def unfenced_writes(evidence: Evidence) -> Iterator[Conflict]:
    """Yield writes without a token that took effect, and writes that lost their token on the way."""
    if not evidence.history.header.fenced or attempts_if_right(evidence) is not None:
        return
    log = evidence.log
    yield from _sent_without_a_token(zones_of(evidence))
    if log is not None:
        yield from _stored_without_a_token(log)


def _sent_without_a_token(zones: ZoneColumns) -> Iterator[Conflict]:
    """Yield writes without a token that took effect.

    Without a commit log, an ok or a read shows that; with one, the log or a read does.
    """
    columns = zones.columns
    places = np.arange(zones.bare, len(zones.level))
    order = zones.recorded.order_of_resources[zones.resource[places]]
    for place in places[stable_order(order)].tolist():
        row = int(zones.write[place - zones.initials])
        is_logged = zones.log is not None and zones.log.first_of_row[row] >= 0
        reads = zones.reads_of(place)[:1]
        if zones.log is not None and not is_logged and not len(reads):
            continue  # acknowledged, and never stored: a phantom-accept or lost-write
        is_answered = columns.outcome[row] == OK and zones.log is None
        shown = () if is_logged or is_answered else zones.operations(reads)
        yield CARRIED_NO_TOKEN.conflict(zones.ops[row], *shown)


def _stored_without_a_token(log: LogColumns) -> Iterator[Conflict]:
    """Yield logged writes whose token was left out on the way to the storage, or that no client sent."""
    unmatched = log.unmatched_positions
    for position in unmatched[log.lost_their_tokens[unmatched]].tolist():
        entry = log.entry(position)
        yield LOST_ITS_TOKEN.conflict(entry.accused, entry.near)


def _carried_no_token(n: Narrator, conflict: Conflict) -> Story:
    write, reads = conflict.accused, conflict.because
    place = n.place(write) if n.numbers(write) and write.outcome is not Outcome.OK else ""
    logged = f"It is {place} in the storage's own order: it took effect."
    wrote = f"wrote {content(write.value)} to {write.resource} without a token"
    return Story(
        summary=f"{n.whom(write)} {wrote}, and {_ACCEPTED}",
        steps=(
            step(f"{n.who(write)} sent {content(write.value)} without a token {n.sent(write)}.", write),
            *([] if reads else [step(f"{ending(n, write)}.", write)]),
            *([step(logged, write)] if place else []),
            *(
                step(f"A read by {n.whom(op)} returned it {n.answered(op)}: it took effect.", op)
                for op in reads
            ),
            _COMPARES_TOKENS,
        ),
        sentences=(
            f"{n.who(write)} {wrote}.",
            "The storage accepted it, so a client that has lost the lock can write like that, too.",
        ),
    )


def _lost_its_token(n: Narrator, conflict: Conflict) -> Story:
    write, number = conflict.accused, n.commit(conflict.accused).seq
    what = content(write.value)
    if not write.lines:
        order = f"In the storage's own order, {what} is number {number}, and has no token."
        return Story(
            summary=f"an unknown client wrote {what} to {write.resource} without a token, and {_ACCEPTED}",
            steps=(step(f"{order} No client sent it there.", write), _COMPARES_TOKENS),
        )
    return Story(
        summary=(
            f"{n.whom(write)} wrote {what} with token {write.token} to {write.resource}, and {_ACCEPTED}"
            " without the token"
        ),
        steps=(
            n.sent_step(write),
            step(f"In the storage's own order, it is number {number}, and has no token.", write),
            _COMPARES_TOKENS,
        ),
        sentences=(
            f"{n.who(write)} sent {what} to {write.resource} with token {write.token}.",
            "Some way to the storage leaves the token out: there, the write has none, and was accepted.",
        ),
    )


# because: the read, if no answer shows that it took effect
CARRIED_NO_TOKEN = Breach("unfenced-write", "no-token", _carried_no_token)
# because: a write that fits the log
LOST_ITS_TOKEN = Breach("unfenced-write", "lost-its-token", _lost_its_token)

OBSERVED, COMMITTED = (
    Checker("unfenced-write", evidence, unfenced_writes, compares_only=True)
    for evidence in ("observed", "committed")
)

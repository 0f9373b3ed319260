"""Non-linearizable: either a rejection was false, or what came after it was stale.

If a rejection had a cause, the mark had been reached when it returned at the latest, and nothing that was
called after that can have taken effect below it. A rejection is weaker evidence than an accepted operation,
so such a conflict is neither a stale-write nor a stale-read nor a false-rejection: one of the two is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from checkers.explain.conflict import Breach, Conflict
from checkers.explain.cycles import Question, cycle
from checkers.explain.edges import Refusal
from checkers.explain.effects import MOST_EXPLAINED, Excuse, excuses
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, capitalized, step
from checkers.facts.cluster_columns import ZoneColumns
from checkers.facts.log_order import order_of
from checkers.facts.rejection_causes import Causes, first_call, refused_heights
from checkers.history.columns import READ, Flags, Ints, indices
from checkers.history.ranges import NOWHERE
from checkers.history.ranks import Summit
from checkers.history.records import WRITES, Op


def false_or_stale(accused: Op, rejected: Op) -> Conflict:
    """Return the conflict between two operations of which one is wrong."""
    return FALSE_OR_STALE.conflict(accused, rejected)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Proved:
    """Rejections, and the mark that they prove."""

    by: Ints
    mark: Summit


def below_proved_marks(zones: ZoneColumns, found: Causes, odd: Flags) -> Iterator[Conflict]:
    """Yield operations with an older token, called after a rejection that proves a newer one had returned."""
    caused = indices(found.cause != NOWHERE)
    if not len(caused):
        return
    rejected, returned = zones.rejected, zones.ranks.returned[zones.rejected]
    by_value = caused[first_call(zones, zones.fences, refused_heights(zones)[caused]) > returned[caused]]
    height = found.levels.height[found.cause]
    mark, mark_of_values = (
        _Proved(by=rejected[each], mark=Summit(zones.ranks.size, returned[each], height[each]))
        for each in (caused, by_value)
    )
    yield from _below(zones, mark, mark_of_values, odd)


def _below(zones: ZoneColumns, caused: _Proved, by_value: _Proved, odd: Flags) -> Iterator[Conflict]:
    written = np.arange(zones.initials, zones.bare)
    late = written[caused.mark.before(zones.ranks.called[zones.fenced_write]) > zones.level[written]]
    late = late[~odd[late]]
    reads, of = zones.all_reads
    old = indices(by_value.mark.before(zones.ranks.called[reads]) > zones.level[of])
    old = old[~odd[of[old]] & (of[old] < zones.bare)]
    row = np.concatenate((zones.write[late - zones.initials], reads[old]))
    place = np.concatenate((late, of[old]))
    is_read = zones.columns.f[row] == READ
    for each in np.lexsort((row, is_read, place)).tolist():
        rejections = by_value if is_read[each] else caused
        entry = rejections.mark.entries_before(zones.ranks.called[row[[each]]])[0]
        yield false_or_stale(zones.ops[int(row[each])], zones.ops[int(rejections.by[entry])])


def _causes(n: Narrator, conflict: Conflict) -> Iterable[Op]:
    """Return the possible cause, sent first, of a rejection that contradicts the accused.

    With a log, return the first cause in it, and what shows that the accused precedes that.
    """
    accused, rejected = conflict.accused, conflict.because[0]
    order = order_of(n.evidence)
    if order is not None:
        return order.causes(rejected, accused)
    least = max(n.least_above(rejected), _least_against(n, accused))
    first = n.index.first_raising(rejected.resource, least, -1)
    return [] if first is None or first.called > (rejected.returned or 0) else [first]


def _shown(n: Narrator, op: Op) -> int:
    """Return the token of what an operation wrote, fenced or read, even if its answer has no token."""
    if op.token is None and op.f == "read":
        writer = n.index.writer(op)
        return n.history.header.initial_token if writer is None else writer.token or 0
    return op.token or 0


def _least_against(n: Narrator, accused: Op) -> int:
    """Return the lowest token that makes the accused stale: a strict fence accepts a token only once."""
    is_strict = n.history.header.policy == "strict" and accused.f in WRITES
    return _shown(n, accused) + (not is_strict)


def _one_of_two(n: Narrator, conflict: Conflict) -> Story:
    op, rejected = conflict.accused, conflict.because[0]
    did = {"read": "read", "fence": "fenced"}.get(op.f, "wrote")
    reached = _shown(n, op)
    refused = f"{n.message(rejected)} with token {rejected.token} on {op.resource}"
    log = n.logged(conflict.proof, conflict.accused)
    raising = (each for each in conflict.proof if each.f != "read" and each not in {rejected, op})
    least = _least_against(n, op) if log is None else n.least_above(rejected)
    cause = next(each for each in (raising if log is None else log) if (each.token or 0) >= least)
    token = f"the {'same' if cause.token == reached else 'lower'} token {reached}"
    in_time = n.index.raising(rejected.resource, n.least_above(rejected), rejected.returned or 0)
    lower = takewhile(lambda each: (each.token or 0) <= reached, in_time)
    found = excuses(n, rejected, lower) if log is None else []  # a log shows which came first
    moral = f"either the refusal was false, or {n.name(op)} with {token} was stale"
    question = Question(
        proof=conflict.proof,
        fenced=log is None,
        log=log,
        refusal=Refusal(rejected=rejected, cause=cause, reached=reached, why_none=_none(n, found)),
        accused=op,
    )
    is_same = log is None and cause.token == reached
    return Story(
        summary=(
            f"either the storage wrongly refused {refused}, or what {n.whom(op)} {did} afterwards with token"
            f" {reached} was stale"
        ),
        steps=_used_twice(n, rejected, cause, op, moral) if is_same else cycle(n, question, moral),
        others=tuple(each for excuse in found for each in excuse.operations),
        sentences=(
            f"The storage refused {refused} as stale, as if it had accepted token {cause.token}.",
            f"After that, what {n.whom(op)} {did} with {token} was accepted.",
            "One of the two answers was wrong.",
        ),
    )


def _used_twice(n: Narrator, rejected: Op, cause: Op, accused: Op, moral: str) -> tuple[Step, ...]:
    """Say that a strict fence accepted a token after a refusal that is right only if it was used up."""
    least = n.least_above(rejected)
    return (
        step(
            f"The storage refused token {rejected.token} as stale {n.answered(rejected)}, which is right only"
            f" if a token of {least} or more had been accepted by then. {capitalized(n.name(cause))} with"
            f" token {cause.token} may have been: it was sent {n.sent(cause)}.",
            rejected,
            cause,
        ),
        step(
            f"{capitalized(n.name(accused))} was sent only after that, {n.sent(accused)}, and a strict fence"
            f" accepts a token once, but token {accused.token} was accepted {n.answered(accused)}.",
            accused,
        ),
        step(f"So {moral}."),
    )


def _none(n: Narrator, found: Sequence[Excuse]) -> str:
    """Say why no lower token can have been the reason for a refusal."""
    if not found:
        return "as no write with such a token had been sent by then that can have been accepted"
    late = (f"{n.name(excuse.op)} was too late ({excuse.why})" for excuse in found[:MOST_EXPLAINED])
    return f"as {' and '.join(late)}"


# because: the rejection
FALSE_OR_STALE = Breach("non-linearizable", "one-of-two", _one_of_two, needs=_causes)

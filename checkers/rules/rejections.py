"""False-rejection: a write or fence was refused as stale, although nothing can have made it stale by then.

A fence refuses a token because it has met a newer one (strict: or an equal one). `causes` returns
the tokens of a fenced storage that qualify. If there is none, the rejection was false. If the only
one is hidden by a level that came too late, one of two answers was wrong (see `false_or_stale`).

Where no fence is promised, tokens are in no order and nothing hides anything: a rejection is false iff
nothing with a high enough token can have been accepted before it returned.

With a commit log the mark is known at each place, whatever raised it. The cause is the first place with a
high enough mark; the log can have reached it once everything up to it had been called. An operation missing
from the log can be the cause only if it may have been there for a while (see `rejection_causes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from checkers.explain.conflict import Breach, Conflict
from checkers.explain.effects import MOST_EXPLAINED, Excuse, excuses
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, capitalized, step
from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.log_order import order_of
from checkers.facts.rejection_causes import called_of_zones, causes, first_call, refused_heights, unlogged
from checkers.history.columns import Flags, indices
from checkers.history.ranges import NOWHERE
from checkers.history.ranks import UNRANKED, stable_order
from checkers.history.records import Op
from checkers.rules.non_linearizable import commit_order
from checkers.rules.non_linearizable.false_or_stale import below_proved_marks, false_or_stale


def of_unfenced(zones: ZoneColumns) -> Iterator[Conflict]:
    """Yield rejections by storages that promise no fence and can have met no newer token."""
    raising = np.concatenate((zones.optional, zones.fences))
    heights = np.concatenate((zones.level, zones.height[raising]))
    called = called_of_zones(zones, np.arange(len(zones.level)))
    starts = np.concatenate((called, zones.ranks.called[raising]))
    order = stable_order(heights)
    ever = np.append(np.minimum.accumulate(starts[order][::-1])[::-1], UNRANKED)
    least = np.searchsorted(heights[order], refused_heights(zones))
    uncaused = zones.rejected[ever[least] > zones.ranks.returned[zones.rejected]]
    for rejected in zones.operations(uncaused):
        yield NO_CAUSE.conflict(rejected)


def of_fenced(zones: ZoneColumns, broken: Flags, odd: Flags) -> Iterator[Conflict]:
    """Yield rejections without a cause, and what contradicts the cause that a rejection must have had."""
    found = causes(zones, broken)
    for place in indices(found.cause == NOWHERE).tolist():
        rejected = zones.ops[int(zones.rejected[place])]
        if found.is_without[place]:
            yield NO_CAUSE.conflict(rejected)
        else:
            first = found.levels.first_of_each[found.definite[place]]
            yield false_or_stale(zones.write_of(int(first)), rejected)
    yield from below_proved_marks(zones, found, odd)


def of_logged(evidence: Evidence) -> Iterator[Conflict]:
    """Yield rejections that the log does not explain, and what contradicts the place that explains one."""
    zones, order = zones_of(evidence), order_of(evidence)
    rejected, columns = zones.rejected, zones.columns
    if order is None or not len(rejected):
        return
    log, inclusive = order.log, zones.header.policy == "inclusive"
    resource, returned = columns.resource[rejected], zones.ranks.returned[rejected]
    by_another = first_call(zones, unlogged(evidence), refused_heights(zones))
    may_be_another = by_another <= returned
    place = order.first_mark(resource, columns.token[rejected], above=inclusive)
    at_start = place < log.first[resource]
    starts = np.append(order.starts, UNRANKED)[place]
    in_time = at_start | (starts <= returned)
    for row in rejected[~in_time & ~may_be_another].tolist():
        yield NO_CAUSE.conflict(zones.ops[row])
    caused = in_time & ~may_be_another
    if zones.header.fenced and caused.any():
        late = order.late_by_refusals(rejected[caused], place[caused])
        yield from commit_order.conflicts_of(order, late)


def _no_cause(n: Narrator, conflict: Conflict) -> Story:
    op = conflict.accused
    least = n.least_above(op)
    in_time = n.index.raising(op.resource, least, op.returned or 0)
    commits = () if n.log is None else n.log.unmatched_of.get(op.resource, ())
    unrecorded = (each.op for each in commits if each.is_unrecorded and (each.token or 0) >= least)
    found = excuses(n, op, chain(in_time, unrecorded))
    newer = f"newer{' or equal' if n.history.header.policy == 'strict' else ''} token can have"
    right = f"which is right only once it has accepted a token of {least} or more"
    return Story(
        summary=f"the storage refused {n.request(op)} as stale, though no {newer} been accepted",
        steps=(
            n.sent_step(op),
            step(f"The storage refused it as stale {n.answered(op)}, {right}.", op),
            *_too_late(n, op, least, found),
            step(f"So nothing can have made token {op.token} stale: it was refused without a cause."),
        ),
        others=tuple(op for excuse in found for op in excuse.operations),
        sentences=(
            capitalized(f"{n.request(op)} was sent at {n.at(op.called)}."),
            f"No token of {least} or more can have been accepted by {n.at(op.returned or 0)}.",
            "The storage refused it as stale all the same.",
        ),
    )


def _too_late(n: Narrator, rejected: Op, least: int, found: Sequence[Excuse]) -> Iterator[Step]:
    """Say why nothing with such a token can have been accepted in time."""
    first = n.index.first_raising(rejected.resource, least, rejected.returned or 0)
    fenced = n.index.has_fence(rejected.resource, least) or any(excuse.op.f == "fence" for excuse in found)
    kinds = "write to" if not fenced else "write or fence on"
    is_of_all = n.log is None and not n.index.was_sent(rejected, least)
    accepted = "" if found or is_of_all else "that can have been accepted "
    sent = f"But every {kinds} {rejected.resource} {accepted}with such a token was sent only after that"
    if found:
        yield step(f"{sent}, or cannot have been accepted by then.")
    elif first is not None:
        name = n.name(first) if first.f == "fence" else f"{n.name(first)}{n.with_token(first)}"
        yield step(f"{sent}: the first, {name}, {n.sent(first)}.", first)
    else:
        where = f"to {rejected.resource} with such a token"
        yield step(f"But no write {where} was ever accepted, or can have been.")
    for excuse in found[:MOST_EXPLAINED]:
        op = excuse.op
        yield step(f"{capitalized(n.name(op))} was sent {n.sent(op)}, but {excuse.why}.", op)


NO_CAUSE = Breach("false-rejection", "no-cause", _no_cause)

"""Late-write (only counted): a superseded holder wrote before its successor did.

The write was called after a newer token had been granted, and took effect. The fence cannot stop
it, because it has not seen the newer token yet; late writes make lost updates possible. Where the lock
gives no tokens, it was called after a later hold had been granted (see `stale_writes.by_holds`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from checkers.explain.causes import of_late_write
from checkers.explain.conflict import Breach, Checker, Conflict
from checkers.explain.narrator import Narrator
from checkers.explain.story import Story, capitalized, lock_on, step
from checkers.explain.telling import took, was_held_up
from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.hold_order import hold_order, writes_of
from checkers.history.columns import ACQUIRE, OK, Flags, Ints, indices
from checkers.history.memoized import memoized
from checkers.history.ranks import Summit
from checkers.rules.registers import stale_writes_of
from checkers.rules.short_histories import attempts_if_right
from checkers.rules.stale_writes.by_holds import came_later
from checkers.text.printable import content


@memoized
def late_writes(evidence: Evidence) -> Sequence[Conflict]:
    """Return the writes, except stale ones, that took effect and were called after a newer grant."""
    if attempts_if_right(evidence) is not None:
        return ()
    zones = zones_of(evidence)
    grants = grants_of(zones)
    if not len(grants):
        return ()
    stale = zones.recorded.flags_of(each.accused for each in stale_writes_of(evidence))
    return (*_late(zones, grants, stale), *_late_by_holds(evidence, stale))


def _late(zones: ZoneColumns, grants: Ints, stale: Flags) -> Iterator[Conflict]:
    granted = newest(zones, grants)
    accepted = zones.fenced_write[indices(~stale[zones.fenced_write])]
    late = accepted[granted.before(zones.ranks.called[accepted]) > zones.height[accepted]]
    if not len(late):
        return
    by = grants[granted.entries_before(zones.ranks.called[late])]
    order = zones.recorded.order_of_resources[zones.columns.resource[late]]
    for place in np.argsort(order, kind="stable").tolist():
        yield AFTER_NEWER_GRANT.conflict(zones.ops[int(late[place])], zones.ops[int(by[place])])


def _late_by_holds(evidence: Evidence, stale: Flags) -> Iterator[Conflict]:
    """Yield the writes, except `stale` rows, that took effect and were called after a later hold's grant."""
    writes = writes_of(evidence)
    if writes is None:
        return
    zones = zones_of(evidence)
    places = indices(writes.accepted & writes.is_late & ~stale[writes.rows])
    for row, grant, later in writes.with_latest_grant(places):
        own, other = hold_order(evidence).operations(np.array([grant, later]))
        yield AFTER_LATER_GRANT.conflict(zones.ops[row], other, own)


def grants_of(zones: ZoneColumns) -> Ints:
    """Return the rows of the grants."""
    columns = zones.columns
    return indices((columns.f == ACQUIRE) & (columns.outcome == OK))


def newest(zones: ZoneColumns, grants: Ints) -> Summit:
    """Return the newest token granted before each moment."""
    return Summit(zones.ranks.size, zones.ranks.returned[grants], zones.height[grants])


def _after_newer_grant(n: Narrator, conflict: Conflict) -> Story:
    write, grant = conflict.accused, conflict.because[0]
    own, cause = n.grant_behind(write), of_late_write(n, write)
    held_up = "" if own is None else was_held_up(n, cause, own)
    between = f"{n.whom(grant)} got token {grant.token}, and had not written yet."
    sent = f"sent {content(write.value)} with the older token {write.token} {n.sent(write)}"
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} with token {write.token} to {write.resource} after"
            f" token {grant.token} had been granted to {n.whom(grant)}, which had not yet written"
        ),
        steps=(
            *n.grant_steps(grant),
            step(f"{n.who(write)} {sent}.", write),
            step("It was accepted: the storage had not seen the newer token yet, so no fence could tell."),
        ),
        sentences=(
            "" if own is None else took(n, own),
            f"{held_up}; {between}" if held_up else capitalized(between),
            f"Then {n.whom(write)} wrote with its older token, and no fence could tell.",
        ),
        cause=cause,
    )


def _after_later_grant(n: Narrator, conflict: Conflict) -> Story:
    write, later, own = conflict.accused, *conflict.because
    sent = f"sent {content(write.value)} only then, {n.sent(write)}, and it was accepted"
    return Story(
        summary=(
            f"{n.whom(write)} wrote {content(write.value)} to {write.resource} after the lock had been"
            f" granted to {n.whom(later)}, which had not yet written"
        ),
        steps=(*n.grant_steps(own, later), came_later(n, own, later), step(f"{n.who(write)} {sent}.", write)),
        sentences=(
            f"{n.who(own)} took {lock_on(own.resource)}.",
            f"{n.who(later)} was granted it later, at {n.at(later.returned or 0)}, and had not written yet.",
            f"Then {n.whom(write)} wrote, as of its earlier hold.",
        ),
    )


# because: the grant
AFTER_NEWER_GRANT = Breach("late-write", "after-newer-grant", _after_newer_grant)
# because: the later grant, then the grant of the accused one's hold
AFTER_LATER_GRANT = Breach("late-write", "after-later-grant", _after_later_grant)

CHECKER = Checker("late-write", "observed", late_writes, compares_only=True)

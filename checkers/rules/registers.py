"""The rules for what the clients of a storage saw: does an order of the operations explain it?

The model is a register with a mark. A write with token t is accepted iff
`t > mark` (strict) or `t >= mark` (inclusive), and then the mark is t. A write
that ended in info may have been accepted at any time after its call, or never.

Accepted writes are in the order of their tokens, so the place of each token,
its *level*, is forced, and only four questions remain:

1. Was every value that was read written, with that token, and not later?
2. Inclusive: can the values of one level be put in order? (see `stale_reads`)
3. Had each rejected write a *cause*: a level that the mark can have reached before the rejection returned?
   The lowest such level is the least that the rejection proves. A level can be reached at its *start* at the
   earliest: when something that raised the mark to it was called. A level that was certainly reached, but
   started later, hides those above it.
4. Did anything carry a lower token than what had surely been reached before it was called?

Each condition is necessary, and together they suffice: a rejected write can be put at the higher of its cause
and the level reached when it was called, which keeps real time. So the history is right iff all four hold.
With `fence` operations they are necessary only, and a commit log must decide the rest.

A certain stale write no longer counts for its level, and a read of its value is judged as in a plain
register, so one event yields one finding. A write that was in flight when a newer token was accepted is stale
if this alone explains all reads of its value, and no rejection proves that it came first. Where no fence is
promised, tokens are in no order and hide nothing: a rejection is false iff nothing with a high enough token
can have been accepted before it returned.

With a commit log the order of writes and reads is not judged here but by the log (see
`stale_writes` and `commit_order`). The log says which writes took effect, and questions 1 and 3
are asked again with that knowledge.

All registers are judged at once, in array passes. These keep an order only within a
register; `observed` and `resolved` sort the conflicts by register.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby

import numpy as np

from checkers.explain.conflict import Checker, Conflict, firsts
from checkers.facts.cluster_columns import ZoneColumns, zones_of
from checkers.facts.evidence import Evidence, memoized_as_seen
from checkers.facts.held_values import StorageFacts, of_columns
from checkers.facts.log_order import order_of
from checkers.facts.rejection_causes import were_shut_out
from checkers.history.columns import indices
from checkers.history.memoized import memoized
from checkers.rules import rejections, stale_reads, stale_writes
from checkers.rules.ghost_writes import ghosts_that_were_found, ghosts_that_were_read
from checkers.rules.lost_writes import with_losses
from checkers.rules.non_linearizable.misreads import misreads
from checkers.rules.short_histories import attempts_if_right
from checkers.rules.stale_writes import by_clients, by_log
from checkers.rules.stale_writes.by_holds import seen_after_later, sent_after_later
from checkers.rules.undone_writes import unless_undone


@memoized_as_seen
def observed(evidence: Evidence) -> Sequence[Conflict]:
    """Judge what clients saw, register by register, without the commit log."""
    if attempts_if_right(evidence) is not None:
        return ()
    zones, storage = zones_of(evidence), StorageFacts.of(evidence)
    if zones.header.fenced:
        found: Iterable[Conflict] = unless_undone(zones, storage.restarts, _fenced(zones))
    else:
        found = chain(_plain(zones), sent_after_later(evidence), seen_after_later(evidence))
    number = {name: number for number, name in enumerate(zones.columns.resources)}
    of_each = groupby(firsts(_by_register(zones, found)), key=lambda each: each.accused.resource)
    return tuple(
        conflict
        for name, conflicts in of_each
        for conflict in with_losses(partial(of_columns, zones, number[name]), storage, list(conflicts))
    )


@memoized
def resolved(evidence: Evidence) -> Sequence[Conflict]:
    """Judge reads, rejections and fences where the commit log says which writes took effect."""
    order = order_of(evidence)
    if order is None:
        return ()
    zones = zones_of(evidence)
    found = [*misreads(zones), *ghosts_that_were_read(zones), *ghosts_that_were_found(zones)]
    if not order.log.has_fences:
        found += by_log.after_fence(zones, order.log, order.starts)
    found += rejections.of_logged(evidence)
    return tuple(_by_register(zones, found))


def stale_writes_of(evidence: Evidence) -> Iterator[Conflict]:
    """Yield all stale writes, by the log where there is one."""
    if evidence.log is None:
        found: Iterable[Conflict] = observed(evidence)
    else:
        found = chain(stale_writes.logged(evidence), resolved(evidence))
    return (each for each in found if each.anomaly == "stale-write")


def _by_register(zones: ZoneColumns, conflicts: Iterable[Conflict]) -> list[Conflict]:
    """Return the conflicts in the order of their registers' first operations."""
    conflicts = list(conflicts)
    if not conflicts:
        return conflicts
    order = dict(zip(zones.columns.resources, zones.recorded.order_of_resources.tolist(), strict=True))
    return sorted(conflicts, key=lambda each: order[each.accused.resource])


def _fenced(zones: ZoneColumns) -> list[Conflict]:
    """Run algorithm F."""
    found = [*misreads(zones), *ghosts_that_were_read(zones), *ghosts_that_were_found(zones)]
    broken = np.zeros(len(zones.level), dtype=np.bool_)
    found += by_clients.sent_after_newer(zones, broken)
    odd = broken.copy()
    odd[zones.initials :] |= zones.is_ghost
    late = odd.copy()
    found += by_clients.alone_after_newer(zones, broken, late)
    found += stale_reads.older_than_accepted(zones, odd, late)
    odd = late
    found += stale_reads.reads_after_replaced(zones, odd)
    if zones.header.policy == "inclusive":
        found += stale_reads.flip_flops(zones, indices(~odd[: zones.bare]), zones.level)
    if len(zones.rejected) and (found or not were_shut_out(zones)):
        found += rejections.of_fenced(zones, broken, odd)
    return found


def _plain(zones: ZoneColumns) -> Iterator[Conflict]:
    """Run algorithm R, and yield the writes that are stale in every order."""
    yield from misreads(zones)
    yield from ghosts_that_were_read(zones)
    yield from ghosts_that_were_found(zones)
    known = np.zeros(len(zones.level), dtype=np.bool_)
    yield from by_clients.sent_after_newer(zones, known)
    yield from by_clients.seen_after_newer(zones, known)
    if stale_reads.any_flip_flop(zones):
        yield from stale_reads.flip_flops(zones, np.arange(len(zones.level)), zones.resource)
    if len(zones.rejected):
        yield from rejections.of_unfenced(zones)


_REGISTER = ("stale-write", "stale-read", "false-rejection", "ghost-write", "non-linearizable")

OBSERVED = Checker(
    "register", "observed", observed, (*_REGISTER, "lost-write", "high-water-regression"), compares_only=True
)

RESOLVED = Checker("register", "committed", resolved, _REGISTER, compares_only=True)

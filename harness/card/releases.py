"""Releases that show whether a lock was still held, and whether a library tells that to its holder."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from checkers.facts.leases import granted
from checkers.history.records import Op, Outcome
from harness.core.grouping import grouped
from harness.report.handovers import has_ended, returned


@dataclass(frozen=True, slots=True)
class LostRelease:
    """A release of a lock that was granted to another owner after its holder, and before the release."""

    grant: Op
    later: Op  # the grant that shows that the lock was lost
    release: Op


def of_lost_locks(operations: Iterable[Op]) -> Iterator[LostRelease]:
    """Yield the releases of locks that were lost for certain."""
    for on_resource in grouped((op.resource, op) for op in operations).values():
        yield from _of_losers(on_resource, sorted(granted(on_resource), key=returned))


def _of_losers(operations: Iterable[Op], grants: Sequence[Op]) -> Iterator[LostRelease]:
    held = {grant.owner: grant for grant in grants}
    for release in operations:
        if release.f == "release" and (mine := held.get(release.owner)):
            since = grants[bisect_right(grants, returned(mine), key=returned) :]
            since = since[: bisect_left(since, release.called, key=returned)]
            later = (grant for grant in since if grant.owner != mine.owner and _is_later(grant, mine))
            if taken_by := next(later, None):
                yield LostRelease(mine, taken_by, release)


def of_expired_locks(operations: Sequence[Op]) -> Iterator[Op]:
    """Yield the releases after the end of an unrenewed lease, when no other client can have the lock.

    That these locks were lost is not certain: a service may keep one for longer than it promised.
    """
    held = {grant.owner: grant for grant in granted(operations)}
    renewed = {op.owner for op in operations if op.f == "renew"}
    acquires = (op for op in operations if op.f == "acquire" and op.outcome is not Outcome.FAIL)
    asked = grouped((op.resource, op) for op in acquires)
    for op in operations:
        mine = held.get(op.owner)
        if op.f == "release" and mine and op.owner not in renewed and has_ended(mine, op.called):
            others = (each for each in asked.get(op.resource, ()) if each.owner != op.owner)
            if all(each.precedes(mine) or op.precedes(each) for each in others):
                yield op


def after_moment(operations: Sequence[Op], moment: int) -> Iterator[Op]:
    """Yield the releases after a moment (ns) of locks that were granted before, while their leases last."""
    held = {(op.resource, op.owner): op for op in granted(operations) if returned(op) < moment}
    for op in operations:
        mine = held.get((op.resource, op.owner))
        if op.f == "release" and mine and op.called > moment and not has_ended(mine, op.called):
            yield op


def _is_later(grant: Op, other: Op) -> bool:
    """Was a lock granted after another grant of it, which returned earlier?

    A client may be paused between the grant and its return, so the returns alone prove nothing. A service
    that queues its clients knows no attempt; there, the tokens have to agree.
    """
    if grant.attempt is not None:
        return grant.attempt > returned(other)
    return grant.token is None or other.token is None or grant.token > other.token

"""Did clients that were stopped in order hand their locks over, and did they end by themselves?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from checkers.facts.leases import granted
from checkers.history.faults import Fault, faults_of
from checkers.history.records import History, Op, Outcome
from harness.nemesis.stop import StopSpec
from harness.report.sentences import count

Hold = tuple[str | None, str | None]  # resource and owner


class Stopped(NamedTuple):
    """What became of the lock of a holder that was stopped in order."""

    release: Op | None  # None: it sent none
    waited: int | None  # ns until the next grant; None if none came before the end of the lease
    in_vain: bool  # did another client ask for the lock from the release until the end of the lease?


def by_stopped_holders(operations: Sequence[Op], faults: Iterable[Fault]) -> Iterator[Stopped]:
    """Yield each holder that was stopped in order, but one that had released its lock before."""
    released: dict[Hold, Op] = {(op.resource, op.owner): op for op in operations if op.f == "release"}
    held: dict[Hold, Op] = {(op.resource, op.owner): op for op in granted(operations)}
    for fault in faults:
        release, mine = (found.get((fault.resource, fault.owner)) for found in (released, held))
        if fault.kind != StopSpec.called or mine is None:
            continue
        if release is None:
            yield Stopped(None, None, in_vain=False)
        elif release.called >= fault.began:
            of_others = (op for op in held.values() if op.resource == mine.resource and op is not mine)
            later = (returned(op) for op in of_others if returned(op) > release.called)
            after = min(later, default=None)
            in_time = after is not None and not has_ended(mine, after)
            waited = after - release.called if in_time and after is not None else None
            yield Stopped(release, waited, not in_time and _was_wanted(operations, mine, release))


def _was_wanted(operations: Iterable[Op], mine: Op, release: Op) -> bool:
    """Did another client wait from a release until the lease's end, for at least half of the lease?"""
    if mine.ttl is None:
        return False
    renewals = (op for op in operations if op.f == "renew" and op.owner == mine.owner)
    ends = mine.ttl + max([mine.sent, *(op.called for op in renewals if op.outcome is Outcome.OK)])
    return 2 * (ends - release.over) >= mine.ttl and any(
        op.f == "acquire"
        and op.resource == mine.resource
        and op.owner != mine.owner
        and op.called <= release.over
        and op.over >= ends
        for op in operations
    )


def doubts(history: History) -> Iterator[str]:
    """Yield what stopped clients did wrong, in a sentence each: no anomaly, so no verdict says it."""
    stops = [fault for fault in faults_of(history.faults) if fault.kind == StopSpec.called]
    if killed := sum(event.was_killed for event in history.faults):
        stopped = count(len(stops), "stopped client")
        yield f"of {stopped}, {killed:,} did not end within the grace, and had to be killed"
    holders = by_stopped_holders(history.operations, stops) if stops else ()
    released = [(release, in_vain) for release, _, in_vain in holders if release]
    kept = [release for release, in_vain in released if in_vain]
    if kept:
        given_back = count(len(released), "lock")
        first = f"{kept[0].resource}, released at line {kept[0].lines[0]}"
        yield (
            f"of {given_back} that stopped holders released, {len(kept):,} stayed taken until the lease "
            f"ended, while another client waited: such as {first}"
        )


def has_ended(grant: Op, moment: int) -> bool:
    """Had the lease of a grant ended by then, if nothing renewed it? A session has no end of its own."""
    return grant.ttl is not None and moment > grant.sent + grant.ttl


def returned(grant: Op) -> int:
    """When a grant returned, or was called if it did not."""
    return grant.called if grant.returned is None else grant.returned

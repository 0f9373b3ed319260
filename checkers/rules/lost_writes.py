"""Lost-write: a write that had been there is gone for good, and no later one replaced it.

**By the log**, it is missing although clients know that it had been there (see `missing`).

**By what clients saw**, the storage went back for good to what it had held before.

A read that returns a value older than one that had surely been there when it was called is a stale-read, as
from a lagging replica: the newer value comes back. If it does not come back, the storage has lost it. So take
a read r that returned u, and w, the last value that had certainly been there when r was called:

- w was *replaced by the past* if u had been there before w was even sent. (If u and w
  overlapped, u may have been written over w: nothing is lost then.)
- w is *back* if, after r had returned, a client read w again, or another value that
  had been there when r was called and is not older than w.
- The past *stayed* if after r had returned a client read a value from before w again,
  and until the end of the record nothing was sent or read that is not from before w.
- The past was *acted on* if a write that was sent after r had returned was accepted,
  although the fence refuses it at w's token and lets it pass at u's.

w was lost for good iff r shows that it was replaced by the past, it is not back, and one of these
holds: the past stayed, it was acted on, or the storage was restarted after w had been sent and
before r returned. The finding is **lost-write**.

Where there is a fence, the mark may have gone back, too: **high-water-regression**. Each loss accuses one
read of it: the first of a lower token that was called after another read had returned a higher one. If the
higher mark comes back, it is a stale-read. The later reads
of the past show the effect of the loss, and are not wrong by themselves. Stale writes
that the lower mark lets through are wrong: they name the loss as their cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from checkers.explain.causes import of_restart, of_unlogged_write
from checkers.explain.conflict import Breach, Checker, Conflict, each_once
from checkers.explain.effects import acceptance
from checkers.explain.narrator import Narrator
from checkers.explain.story import Step, Story, as_read, step
from checkers.explain.telling import came_late, fault_steps, happened
from checkers.facts.cluster_columns import zones_of
from checkers.facts.evidence import Evidence
from checkers.facts.held_values import (
    Relapse,
    StaleWrites,
    StorageFacts,
    Values,
    is_after_restart,
    losses_of,
    reads_of_suspects,
)
from checkers.facts.missing import missing
from checkers.history.columns import NEVER
from checkers.history.ranges import Above
from checkers.history.records import Op, Outcome
from checkers.rules.non_linearizable.false_or_stale import FALSE_OR_STALE
from checkers.rules.phantom_accepts import FENCE_NEVER_RAISED
from checkers.rules.stale_reads import OLDER_THAN_ACCEPTED, WENT_BACK
from checkers.text.printable import content

_OF_THE_PAST = (OLDER_THAN_ACCEPTED, WENT_BACK, FALSE_OR_STALE)


def lost_in_log(evidence: Evidence) -> Iterator[Conflict]:
    """Yield the writes and fences that had been there and are missing from the log."""
    known = missing(evidence)
    for row in known.lost.tolist():
        reads = [known.readers[row]] if row in known.readers else []
        yield GONE_FROM_LOG.conflict(zones_of(evidence).ops[row], *reads)
    for row in known.lost_fences.tolist():
        yield FENCE_NEVER_RAISED.conflict(zones_of(evidence).ops[row], anomaly="lost-write")


def with_losses(
    values_of: Callable[[], Values], storage: StorageFacts, conflicts: Sequence[Conflict]
) -> list[Conflict]:
    """Return the conflicts of one resource; those that a loss explains become that loss or name it as cause.

    Args:
        values_of: makes the values of the resource; called only if something may have been lost.
        storage: the storage of the resource.
        conflicts: what is wrong with the resource if it has lost nothing.
    """
    suspects = [
        each.accused for each in conflicts if each.accused.f == "read" and each.breach in _OF_THE_PAST
    ]
    if not suspects:
        return list(conflicts)
    values = values_of()
    writes = [each.accused for each in conflicts if each.anomaly == "stale-write"]
    stale = StaleWrites(storage, values, writes)
    reads = reads_of_suspects(values, storage, suspects)
    losses = losses_of(values, storage, reads, stale)
    lost = [_lost_write(values, *loss) for loss in losses.values()]
    own_reads: dict[int, list[Relapse]] = {value: [] for value in losses}
    for read in reads:
        if read.last in losses and values.claimed[read.last] <= values.moments(read.op)[1]:
            own_reads[read.last].append(read)
    regressions = [
        high_water_regression(values, own, own_reads[value]) if storage.fenced else None
        for value, own in zip(losses, lost, strict=True)
    ]
    results = [each or own for each, own in zip(regressions, lost, strict=True)]
    back = _returns(values, storage, reads)
    explained = {read.op.index for own in own_reads.values() for read in own}
    causes = _Causes(values, storage, [read for read, _ in losses.values()], results)
    return [
        *lost,
        *(each for each in regressions if each is not None),
        *(
            causes.named(_with_return(conflict, back))
            for conflict in conflicts
            if conflict.accused.index not in explained
        ),
    ]


def _lost_write(values: Values, read: Relapse, witness: Iterable[Op]) -> Conflict:
    past, lost = values.zone(read.value), values.zone(read.last)
    if lost.write is None:  # impossible: nothing precedes the initial value
        raise AssertionError("the initial value cannot be lost to an older one")
    shown = each_once(lost.write, lost.settled_by, past.settled_by, read.op, *witness)
    return GONE_FOR_GOOD.conflict(lost.write, *shown)


def _returns(values: Values, storage: StorageFacts, reads: Iterable[Relapse]) -> dict[int, Op]:
    """Return what came back after each read since a restart: only this shows that nothing was lost."""
    after_restart = [read for read in reads if storage.restarts and is_after_restart(values, storage, read)]
    found = {read.op.index: values.came_back(read.last, read.op) for read in after_restart}
    return {index: op for index, op in found.items() if op is not None}


def _with_return(conflict: Conflict, back: Mapping[int, Op]) -> Conflict:
    op = back.get(conflict.accused.index)
    if op is None:
        return conflict
    return replace(conflict, because=tuple(each_once(conflict.accused, *conflict.because, op)))


class _Causes:
    """The losses that stale writes may follow from, each with the read that shows it."""

    def __init__(
        self, values: Values, storage: StorageFacts, shown: Sequence[Relapse], losses: Sequence[Conflict]
    ) -> None:
        self._storage = storage
        self._losses = losses
        zones = [values.zone(read.last) for read in shown]
        earliest = np.array([-int(zone.settled) for zone in zones], dtype=np.int64)
        lost = np.array([zone.token for zone in zones], dtype=np.int64)
        self._above = Above(earliest, lost, -values.token[[read.value for read in shown]])

    def named(self, conflict: Conflict) -> Conflict:
        """Return a stale write with its causing loss, if nothing newer than the lost value proves it stale.

        The lower mark lets the write through; the mark before the loss does not.
        """
        if conflict.anomaly != "stale-write" or not self._storage.fenced:
            return conflict
        newest = max((op.token for op in conflict.because if op.token is not None), default=NEVER)
        least = (conflict.accused.token or 0) + (not self._storage.strict)  # the lowest mark that refuses it
        found = self._above.first((-conflict.accused.called, newest - 1, -least))
        return conflict if found is None else replace(conflict, cause=self._losses[found])


def _gone_for_good(n: Narrator, conflict: Conflict) -> Story:
    lost, what = conflict.accused, content(conflict.accused.value)
    reads = [op for op in conflict.because if op.f == "read" and op.value != lost.value]
    seen = [op for op in conflict.because if op.f == "read" and op.value == lost.value]
    back = next(read for read in reads if (read.returned or 0) > lost.called)
    past = [op for op in conflict.because if op.returned is not None and op.returned < lost.called]
    after = [op for op in conflict.because if op.called > (back.returned or 0)]
    fault = n.restart(lost, back)
    never = f"No client ever saw {what} again"
    return Story(
        summary=_lost(n, lost, "it went back to what it had held before"),
        steps=(
            *(_was_there(n, op) for op in past[:1]),
            n.sent_step(lost),
            acceptance(n, (lost, *seen)),
            *n.restart_steps(fault, lost),
            step(
                f"Then a read by {n.whom(back)}, called {n.sent(back)}, returned {as_read(back)},"
                f" which had been there before {what} was even sent.",
                back,
                lost,
            ),
            *(_after(n, op, lost) for op in after),
            step(f"{never}: it was gone for good, and no write had replaced it.", lost),
        ),
        cause=of_restart(n, lost, back),
        sentences=(
            _had_written(n, lost, seen),
            happened(n, fault),
            f"Then {n.whom(back)} read {as_read(back)}: {what} was gone for good.",
        ),
    )


def _lost(n: Narrator, lost: Op, how: str) -> str:
    what = f"{content(lost.value)}{n.with_token(lost)}"
    return f"the storage lost {what}, which {n.whom(lost)} had written to {lost.resource}: {how}"


def _had_written(n: Narrator, lost: Op, seen: Sequence[Op]) -> str:
    wrote = f"{n.who(lost)} wrote {content(lost.value)}{n.with_token(lost)} to {lost.resource}"
    if seen:
        return f"{wrote}, and {n.whom(seen[0])} read it."
    return f"{wrote}, and {'the storage acknowledged it' if lost.outcome is Outcome.OK else 'it was there'}."


def _was_there(n: Narrator, op: Op) -> Step:
    if op.f == "read":
        returned = f"A read by {n.whom(op)} returned {as_read(op)} {n.answered(op)}"
        return step(f"{returned}, so it was there then.", op)
    return acceptance(n, (op,))


def _after(n: Narrator, op: Op, lost: Op) -> Step:
    if op.f == "read":
        return step(
            f"A later read by {n.whom(op)}, called {n.sent(op)}, returned {as_read(op)}:"
            f" {content(lost.value)} and everything after it was gone.",
            op,
            lost,
        )
    return step(
        f"Then {content(op.value)} with token {op.token} was sent by {n.whom(op)} {n.sent(op)} and took"
        f" effect: a fence that remembered token {lost.token} would have refused it.",
        op,
    )


def _gone_from_log(n: Narrator, conflict: Conflict) -> Story:
    lost, reads, fault = conflict.accused, conflict.because, n.restart(conflict.accused, None)
    cause, readers = of_unlogged_write(n, lost), [n.whom(read) for read in reads]
    seen = " and read it" if n.whom(lost) in readers else "".join(f", and {each} read it" for each in readers)
    late = f"Then it wrote {content(lost.value)}{seen}, but the storage does not have it any more."
    gone = f"But it is {n.place(lost)}, which has every write that the storage still knows."
    return Story(
        summary=_lost(n, lost, "its own order of writes does not have it"),
        steps=(
            *(() if fault else fault_steps(n, cause, lost)),
            n.sent_step(lost),
            *([acceptance(n, (lost,))] if lost.outcome is Outcome.OK else []),
            *(acceptance(n, (lost, read)) for read in reads),
            *n.restart_steps(fault, lost),
            step(gone, lost),
        ),
        cause=cause,
        sentences=came_late(n, cause, lost, late)
        or (
            _had_written(n, lost, reads),
            happened(n, fault),
            "The storage's own order does not have it any more.",
        ),
    )


# because: what shows it was there, the past before and after
GONE_FOR_GOOD = Breach("lost-write", "gone-for-good", _gone_for_good)
# because: the read that saw it, if one did
GONE_FROM_LOG = Breach("lost-write", "gone-from-log", _gone_from_log)

CHECKER = Checker("lost-write", "committed", lost_in_log, compares_only=True)


def high_water_regression(values: Values, lost: Conflict, own: Iterable[Relapse]) -> Conflict | None:
    """Return the loss's first read of a lower mark after another read had returned a higher one."""
    for read in sorted(own, key=lambda each: each.op.index):
        higher = values.higher_read(int(values.token[read.value]), values.moments(read.op)[0])
        if higher is not None:
            because = each_once(read.op, higher, lost.accused, *lost.because)
            return MARK_WENT_BACK.conflict(read.op, *because, cause=lost)
    return None


def _mark_went_back(n: Narrator, conflict: Conflict) -> Story:
    read, higher = conflict.accused, conflict.because[0]
    fault = n.restart(higher, read)
    forgot = f"the storage of {read.resource} forgot token {higher.token}"
    return Story(
        summary=f"{forgot}: {n.whom(read)} read {as_read(read)} after that",
        steps=(
            step(f"A read by {n.whom(higher)} returned {as_read(higher)} {n.answered(higher)}.", higher),
            *n.restart_steps(fault, higher),
            step(f"Then {n.whom(read)} called a read {n.sent(read)}.", read),
            step(
                f"It returned {as_read(read)} {n.answered(read)}, and the higher token did not come back:"
                " the storage's highest token had gone down.",
                read,
            ),
        ),
        cause=of_restart(n, higher, read),
        sentences=(
            f"{n.who(higher)} read {as_read(higher)} from {higher.resource}.",
            happened(n, fault),
            f"Then {n.whom(read)} read {as_read(read)}: the storage has forgotten the higher token.",
        ),
    )


# because: the higher read, what was lost, what shows that
MARK_WENT_BACK = Breach("high-water-regression", "mark-went-back", _mark_went_back)

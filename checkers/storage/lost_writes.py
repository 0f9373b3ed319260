"""Did the storage go back for good to what it had held before? Judged on what clients saw.

A read that returns an older value than one that had surely been there when it was
called is a stale-read, as a replica that lags behind gives it: the newer value comes
back. If it does not come back, the storage has lost it. So, of a read r that returned
u, and w, the last value that had been there for certain when r was called:

- w was *replaced by the past* if u had been there before w was even sent. (If u and w
  overlapped, u may have been written over w: nothing is lost then.)
- It is *back* if a client read it again after r had returned, or another value that
  had been there when r was called and is not older than w.
- The past *stayed* if after r had returned somebody read a value from before w again,
  and to the end of the record nothing was sent or read that is not from before w.
- The past was *acted on* if a write that was sent after r had returned was accepted,
  although the fence refuses it at w's token and lets it pass at u's.

w was lost for good iff r shows that it was replaced by the past, it is not back, and
the past stayed, or was acted on, or the storage was restarted after w had been sent and
before r returned. Its finding is **lost-write**.

Where there is a fence, a read of the mark went back, too, if some read had returned a
higher token before: **high-water-regression**, told of the first such read of that
loss. The reads of the past that followed show what the loss did, and are not wrong by
themselves. Stale writes that the mark of the past lets through are: they name the
loss as their cause.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from checkers.conflict import Conflict, Rule
from checkers.high_water import is_stale
from checkers.history.faults import Fault
from checkers.history.records import FaultEvent, Header, Op
from checkers.history.restarts import any_between, restarts_of_storage
from checkers.storage.clusters import token_of
from checkers.storage.held_values import Values

_OF_THE_PAST = (Rule.OLDER_THAN_ACCEPTED, Rule.WENT_BACK, Rule.FALSE_OR_STALE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """What is known of the storage beside its values."""

    fenced: bool
    strict: bool
    restarts: Sequence[Fault]

    @classmethod
    def of(cls, header: Header, faults: Iterable[FaultEvent]) -> Storage:
        """What the header promises, and the restarts that were seen."""
        return cls(
            fenced=header.fenced,
            strict=header.policy == "strict",
            restarts=restarts_of_storage(faults),
        )


def told(values_of: Callable[[], Values], storage: Storage, conflicts: Sequence[Conflict]) -> list[Conflict]:
    """The conflicts of one resource; what a loss explains is told as that loss, or names it as its cause.

    Args:
        values_of: makes the values of the resource; asked only if something may have been lost.
        storage: that holds it.
        conflicts: what is wrong with it if it has lost nothing.
    """
    suspects = [each.accused for each in conflicts if _is_suspect(each)]
    if not suspects:
        return list(conflicts)
    values = values_of()
    stale = _StaleWrites(
        storage, values, [each.accused for each in conflicts if each.anomaly == "stale-write"]
    )
    reads = _reads(values, storage, suspects)
    losses = _losses(values, storage, reads, stale)
    regressions = [_high_water_regression(values, storage, loss, reads) for loss in losses.values()]
    back = _returns(values, storage, reads)
    explained = {
        read.op.index
        for read in reads
        if read.last in losses and values.claimed[read.last] <= values.moments(read.op)[1]
    }
    return [
        *(loss.conflict for loss in losses.values()),
        *(each for each in regressions if each is not None),
        *(
            _with_cause(values, storage, _with_return(conflict, back), losses.values(), regressions)
            for conflict in conflicts
            if not (_is_suspect(conflict) and conflict.accused.index in explained)
        ),
    ]


def _is_suspect(conflict: Conflict) -> bool:
    """Does it accuse a read of a value that should have been replaced?"""
    return conflict.accused.f == "read" and conflict.rule in _OF_THE_PAST


class _StaleWrites:
    """The stale writes of a resource, in the order of their calls; none where there is no mark."""

    def __init__(self, storage: Storage, values: Values, stale: Iterable[Op]) -> None:
        self._ops = sorted(stale, key=lambda op: values.moments(op)[0]) if storage.fenced else []
        self._called = np.array([values.moments(op)[0] for op in self._ops], dtype=np.int64)
        self._token = np.array([token_of(op) for op in self._ops], dtype=np.int64)
        self._strict = storage.strict

    def first_after(self, moment: int, past: int, mark: int) -> Op | None:
        """The first sent after a moment that the mark of the past lets through, and `mark` does not."""
        first = int(np.searchsorted(self._called, moment, side="right"))
        token = self._token[first:]
        passes = (token > past) & (token <= mark) if self._strict else (token >= past) & (token < mark)
        return self._ops[first + int(np.argmax(passes))] if np.any(passes) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A read of a value that somebody went back to."""

    op: Op
    value: int  # the place of what it returned
    last: int  # the place of the last value that had surely been there when it was called


def _reads(values: Values, storage: Storage, suspects: Iterable[Op]) -> list[_Read]:
    """All reads of the values that these reads returned, the first answered first."""
    places = sorted({values.place_of(read) for read in suspects})
    reads = [
        _Read(op=op, value=place, last=values.last_before(values.moments(op)[0], fenced=storage.fenced))
        for place in places
        for op in values.zone(place).reads
    ]
    return sorted(reads, key=lambda read: (values.moments(read.op)[1], read.op.index))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loss:
    """A value that was lost for good, and the read that shows it."""

    value: int  # its place
    read: _Read
    conflict: Conflict


def _losses(
    values: Values, storage: Storage, reads: Iterable[_Read], stale: _StaleWrites
) -> dict[int, _Loss]:
    """The values that were lost for good, each by the first read that shows it."""
    losses: dict[int, _Loss] = {}
    for read in reads:
        lost = read.last
        if lost in losses or values.settled[read.value] >= values.called[lost]:
            continue
        witness = _witness(values, storage, read, stale)
        if witness is not None:
            conflict = _lost_write(values, read, witness)
            losses[lost] = _Loss(value=lost, read=read, conflict=conflict)
    return losses


def _witness(values: Values, storage: Storage, read: _Read, stale: _StaleWrites) -> tuple[Op, ...] | None:
    """What shows that the past stayed or was acted on; nothing after a restart; None if it is not lost."""
    returned = values.moments(read.op)[1]
    if values.claimed[read.last] > returned:
        return None
    if values.stayed(read.last, returned):
        return (values.last_seen_from_before(read.last),)
    act = stale.first_after(returned, int(values.token[read.value]), int(values.token[read.last]))
    if act is None and not _is_after_restart(values, storage, read):
        return None
    return None if values.came_back(read.last, read.op) else () if act is None else (act,)


def _is_after_restart(values: Values, storage: Storage, read: _Read) -> bool:
    """Was the storage restarted after the last value had been sent, and before the read returned?"""
    write = values.zone(read.last).write
    return write is not None and any_between(storage.restarts, write.called, read.op.returned or 0)


def _lets_pass(values: Values, storage: Storage, read: _Read, write: Op) -> bool:
    """Does the mark of the past let a write through that the one before does not?"""
    token, strict = token_of(write), storage.strict
    return storage.fenced and (
        is_stale(token, int(values.token[read.last]), strict=strict)
        and not is_stale(token, int(values.token[read.value]), strict=strict)
    )


def _lost_write(values: Values, read: _Read, witness: tuple[Op, ...]) -> Conflict:
    past, lost = values.zone(read.value), values.zone(read.last)
    if lost.write is None:  # impossible: nothing had been there before what stood there at first
        raise AssertionError("the initial value cannot be lost to an older one")
    because = dict.fromkeys((lost.settled_by, past.settled_by, read.op, *witness))
    return Conflict(
        anomaly="lost-write",
        rule=Rule.GONE_FOR_GOOD,
        accused=lost.write,
        because=tuple(op for op in because if op is not None and op is not lost.write),
    )


def _high_water_regression(
    values: Values, storage: Storage, loss: _Loss, reads: Iterable[_Read]
) -> Conflict | None:
    """The first read of a lower mark that belongs to a loss, after another had returned a higher one."""
    if not storage.fenced:
        return None
    own = (
        read
        for read in reads
        if read.last == loss.value and values.claimed[loss.value] <= values.moments(read.op)[1]
    )
    for read in sorted(own, key=lambda each: each.op.index):
        higher = values.higher_read(int(values.token[read.value]), values.moments(read.op)[0])
        if higher is not None:
            lost = loss.conflict
            because = dict.fromkeys((higher, lost.accused, *lost.because))
            return Conflict(
                anomaly="high-water-regression",
                rule=Rule.MARK_WENT_BACK,
                accused=read.op,
                because=tuple(op for op in because if op is not read.op),
                cause=lost,
            )
    return None


def _returns(values: Values, storage: Storage, reads: Iterable[_Read]) -> dict[int, Op]:
    """For each read after a restart: what came back. Only that shows that nothing was lost."""
    after_restart = [read for read in reads if storage.restarts and _is_after_restart(values, storage, read)]
    found = {read.op.index: values.came_back(read.last, read.op) for read in after_restart}
    return {index: op for index, op in found.items() if op is not None}


def _with_return(conflict: Conflict, back: Mapping[int, Op]) -> Conflict:
    op = back.get(conflict.accused.index)
    if op is None or not _is_suspect(conflict) or op in conflict.because:
        return conflict
    return replace(conflict, because=(*conflict.because, op))


def _with_cause(
    values: Values,
    storage: Storage,
    conflict: Conflict,
    losses: Iterable[_Loss],
    regressions: Iterable[Conflict | None],
) -> Conflict:
    """Name the loss that a stale write follows from: nothing newer than what was lost proves it stale."""
    if conflict.anomaly != "stale-write":
        return conflict
    newest = max((op.token for op in conflict.because if op.token is not None), default=math.inf)
    for loss, regression in zip(losses, regressions, strict=True):
        lost = values.zone(loss.value)
        is_after = lost.settled < conflict.accused.called and newest <= lost.token
        if is_after and _lets_pass(values, storage, loss.read, conflict.accused):
            return replace(conflict, cause=regression or loss.conflict)
    return conflict

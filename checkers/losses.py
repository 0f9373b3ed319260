"""Did the storage go back for good to what it had held before? Judged on what clients saw.

A read that returns an older value than one that had surely been there when it was
called is a stale-read, as a replica that lags behind gives it: the newer value comes
back. If it does not come back, the storage has lost it. So, of a read r that returned
u, and w, the last value that had been there for certain when r was called:

- w was *replaced by the past* if u had been there before w was even sent. (If u and w
  overlapped, u may have been written over w: nothing is lost then.)
- It is *back* if a client read it again after r had returned, or another value that
  had been sent by then and is not older than w.
- The past *stayed* if after r had returned somebody read a value from before w again,
  and to the end of the record nothing was sent or read that is not from before w.
- The past was *acted on* if a write that was sent after r had returned was accepted,
  although the fence refuses it at w's token and lets it pass at u's.

w was lost for good iff r shows that it was replaced by the past, it is not back, and
the past stayed, or was acted on, or the storage was restarted between the moment at
which w had been there for certain and the return of r. Its finding is **lost-write**.

Where there is a fence, a read of the mark went back, too, if some read had returned a
higher token before: **high-water-regression**, told of the first such read of that
loss. The reads of the past that followed show what the loss did, and are not wrong by
themselves. Stale writes that the mark of the past lets through are: they name the
loss as their cause.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from checkers.columns import Flags, Ints
from checkers.conflict import Conflict, Rule
from checkers.faults import Fault
from checkers.highwater import is_stale
from checkers.records import FaultEvent, Header, Op
from checkers.restarts import any_between, restarts_of_storage
from checkers.zones import Zone, token_of

_OF_THE_PAST = (Rule.OLDER_THAN_ACCEPTED, Rule.WENT_BACK, Rule.FALSE_OR_STALE)


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """The values that one resource held, in arrays with one place for each: the initial one's first.

    Moments are in any unit that keeps their order.
    """

    settled: Ints  # see `zones`
    claimed: Ints
    called: Ints  # when its write was sent
    token: Ints
    was_read: Flags
    zone: Callable[[int], Zone]
    place_of: Callable[[Op], int]  # of the value that a read returned
    moments: Callable[[Op], tuple[int, int]]  # call and return of a read or write

    @cached_property
    def order(self) -> Ints:
        """The places by the moments at which they were settled."""
        return np.argsort(self.settled, kind="stable")

    @cached_property
    def _settled(self) -> Ints:
        return self.settled[self.order]

    @cached_property
    def _latest_call(self) -> Ints:
        return np.maximum.accumulate(self.called[self.order])

    @cached_property
    def _latest_claim(self) -> Ints:
        return np.maximum.accumulate(self.claimed[self.order])

    @cached_property
    def _latest_claim_from(self) -> Ints:
        return np.maximum.accumulate(self.claimed[self.order][::-1])[::-1]

    def there_before(self, moment: int) -> Ints:
        """The places of the values that had surely been there before a moment."""
        return self.order[: np.searchsorted(self._settled, moment)]

    def last_before(self, moment: int, *, fenced: bool) -> int:
        """The last value that had surely been there: none of the others surely replaced it.

        Of several it is the one that a fence would have let through last, or that was sent last.
        """
        count = int(np.searchsorted(self._settled, moment))
        first = int(np.searchsorted(self._settled, self._latest_call[count - 1]))
        of = self.order[first:count]
        tokens = self.token[of] if fenced else np.zeros(len(of), dtype=np.int64)
        return int(of[np.lexsort((self.called[of], tokens))[-1]])

    def stayed(self, value: int, moment: int) -> bool:
        """After a moment, was something read from before a value, and nothing else sent or read?"""
        older = int(np.searchsorted(self._settled, self.called[value]))  # the initial value at the least
        return bool(self._latest_claim[older - 1] > moment >= self._latest_claim_from[older])

    def last_seen_from_before(self, value: int) -> Op:
        """The last read of something that had been there before a value was sent, if there is one."""
        older = self.there_before(int(self.called[value]))
        seen = self.zone(int(older[np.argmax(self.claimed[older])])).claimed_by
        if seen is None:
            raise ValueError("nobody read anything from before that value")
        return seen

    def came_back(self, value: int, moment: int) -> bool:
        """Was it read after a moment, or another that is not from before it and had been sent by then?"""
        newer = self.order[np.searchsorted(self._settled, self.called[value]) :]
        return bool(np.any((self.claimed[newer] > moment) & (self.called[newer] <= moment)))

    def higher_read(self, token: int, moment: int) -> Op | None:
        """A read that had returned a higher token before a moment: the last settled one's first."""
        before = self.there_before(moment)
        for place in before[self.was_read[before] & (self.token[before] > token)][::-1].tolist():
            for read in self.zone(place).reads:
                if self.moments(read)[1] < moment:
                    return read
        return None


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
    stale = [each.accused for each in conflicts if each.anomaly == "stale-write"]
    reads = _reads(values, storage, suspects)
    losses = _losses(values, storage, reads, stale)
    regressions = [_high_water_regression(values, storage, loss, reads) for loss in losses.values()]
    explained = {
        read.op.index
        for read in reads
        if read.last in losses and values.claimed[read.last] <= values.moments(read.op)[1]
    }
    return [
        *(loss.conflict for loss in losses.values()),
        *(each for each in regressions if each is not None),
        *(
            _with_cause(values, storage, conflict, losses.values(), regressions)
            for conflict in conflicts
            if not (_is_suspect(conflict) and conflict.accused.index in explained)
        ),
    ]


def _is_suspect(conflict: Conflict) -> bool:
    """Does it accuse a read of a value that should have been replaced?"""
    return conflict.accused.f == "read" and conflict.rule in _OF_THE_PAST


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
    values: Values, storage: Storage, reads: Iterable[_Read], stale: Sequence[Op]
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


def _witness(values: Values, storage: Storage, read: _Read, stale: Iterable[Op]) -> tuple[Op, ...] | None:
    """What shows that the past stayed or was acted on; nothing after a restart; None if it is not lost."""
    returned = values.moments(read.op)[1]
    if values.claimed[read.last] > returned:
        return None
    if values.stayed(read.last, returned):
        return (values.last_seen_from_before(read.last),)
    acts = [op for op in stale if values.moments(op)[0] > returned and _lets_pass(values, storage, read, op)]
    restarted = any_between(storage.restarts, values.zone(read.last).settled, read.op.returned or 0)
    if (acts or restarted) and not values.came_back(read.last, returned):
        return tuple(acts[:1])
    return None


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

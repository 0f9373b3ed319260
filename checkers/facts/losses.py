"""The values that a register lost for good, by what clients saw; `lost_writes` has the rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from checkers.facts.evidence import Evidence
from checkers.facts.held_values import Values
from checkers.facts.recorded import restarts_of_storage
from checkers.history.faults import Faults
from checkers.history.ranges import Above
from checkers.history.records import Op


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageFacts:
    """What is known about a storage besides its values."""

    fenced: bool
    strict: bool
    restarts: Faults

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        """Return what the header promises, with the restarts that were seen."""
        header, restarts = evidence.history.header, restarts_of_storage(evidence.history.faults)
        return cls(fenced=header.fenced, strict=header.policy == "strict", restarts=restarts)


class StaleWrites:
    """The stale writes of a resource, by call; none if the storage has no mark."""

    def __init__(self, storage: StorageFacts, values: Values, stale: Iterable[Op]) -> None:
        self._ops = sorted(stale, key=lambda op: values.moments(op)[0]) if storage.fenced else []
        self._called = np.array([values.moments(op)[0] for op in self._ops], dtype=np.int64)
        token = np.array([op.token or 0 for op in self._ops], dtype=np.int64)
        self._between = Above(token, -token)
        self._strict = storage.strict

    def first_after(self, moment: int, past: int, mark: int) -> Op | None:
        """Return the first one sent after a moment that the mark `past` lets through and `mark` refuses."""
        first = int(np.searchsorted(self._called, moment, side="right"))
        limits = (past, -mark - 1) if self._strict else (past - 1, -mark)
        found = self._between.first(limits, first)
        return None if found is None else self._ops[found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relapse:
    """A read of a value that the storage went back to."""

    op: Op
    value: int  # the place of the value that it returned
    last: int  # the place of the last value that had surely been there when it was called


def reads_of_suspects(values: Values, storage: StorageFacts, suspects: Iterable[Op]) -> list[Relapse]:
    """Return all reads of the values that these reads returned, by return."""
    places = sorted({values.place_of(read) for read in suspects})
    found = [(op, place) for place in places for op in values.zone(place).reads]
    called = np.array([values.moments(op)[0] for op, _ in found], dtype=np.int64)
    lasts = values.last_before(called, fenced=storage.fenced).tolist()
    reads = [Relapse(op=op, value=place, last=last) for (op, place), last in zip(found, lasts, strict=True)]
    return sorted(reads, key=lambda read: (values.moments(read.op)[1], read.op.index))


def losses_of(
    values: Values, storage: StorageFacts, reads: Iterable[Relapse], stale: StaleWrites
) -> dict[int, tuple[Relapse, tuple[Op, ...]]]:
    """Return the places of the values that were lost for good, each with the first read that shows it.

    Also with what shows that the past stayed or was acted on: nothing after a restart.
    """
    losses: dict[int, tuple[Relapse, tuple[Op, ...]]] = {}
    for read in reads:
        lost = read.last
        if lost in losses or values.settled[read.value] >= values.called[lost]:
            continue
        witness = _witness(values, storage, read, stale)
        if witness is not None:
            losses[lost] = read, witness
    return losses


def _witness(
    values: Values, storage: StorageFacts, read: Relapse, stale: StaleWrites
) -> tuple[Op, ...] | None:
    """Return what shows that the past stayed or was acted on; empty after a restart; None without a loss."""
    returned = values.moments(read.op)[1]
    if values.claimed[read.last] > returned:
        return None
    if values.stayed(read.last, returned):
        return (values.last_seen_from_before(read.last),)
    act = stale.first_after(returned, int(values.token[read.value]), int(values.token[read.last]))
    if act is None and not is_after_restart(values, storage, read):
        return None
    return None if values.came_back(read.last, read.op) else () if act is None else (act,)


def is_after_restart(values: Values, storage: StorageFacts, read: Relapse) -> bool:
    """Was the storage restarted after the last value had been sent, and before the read returned?"""
    write = values.zone(read.last).write
    restarts, end = storage.restarts, read.op.returned or 0
    return write is not None and restarts.first_between(write.called, end) is not None

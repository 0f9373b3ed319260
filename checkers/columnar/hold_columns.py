"""Which operations of a lock service its checkers have to look at, found on columns.

`grants` and `leases` are the definitions, and go through operations one by one. Of a
long history nearly all is right, so here each question is first asked in a form that
arrays answer and that is never narrower: who may be accused, and who may be the reason?
The definitions are then asked about the operations of those owners alone, and say the
same as of all: for each accused, every operation that their answer rests on is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from checkers.columnar.columns import (
    ABSENT,
    ACQUIRE,
    FAIL,
    NEVER,
    OK,
    RELEASE,
    RENEW,
    REVOKE,
    Columns,
    Flags,
    Ints,
    Operations,
)
from checkers.columnar.ranks import distinct, is_repeated, stable_order
from checkers.evidence import Evidence


def narrowed(evidence: Evidence, relevant: Callable[[Columns], Ints]) -> Evidence:
    """The same evidence; of a long history only the relevant rows."""
    operations = evidence.history.operations
    if not isinstance(operations, Operations):
        return evidence
    columns = operations.columns
    asked = bool(np.any(columns.f == ACQUIRE))  # else nobody was granted anything, and nobody waited
    chosen = tuple(operations.at(relevant(columns))) if asked else ()
    return Evidence(history=replace(evidence.history, operations=chosen), log=evidence.log)


def of_shared_tokens(columns: Columns) -> Ints:
    """The grants whose token another grant of their resource carries, too."""
    grants = _grants(columns)
    (key,) = _keys((columns.resource[grants], columns.token[grants]))
    shared = np.isin(key, key[is_repeated(key)])
    return grants[np.flatnonzero(shared)]


def of_lower_tokens(columns: Columns) -> Ints:
    """Who was sent after a grant of no lower a token had returned; those grants; and their ends."""
    holds = _Holds(columns)
    highest = holds.greatest_before(holds.returned, holds.token, asked=holds.sent)
    accused = np.flatnonzero(highest >= holds.token)
    if not len(accused):
        return accused
    least = np.full(len(columns.resources), NEVER, dtype=np.int64)
    np.minimum.at(least, holds.resource[accused], holds.token[accused])
    latest = np.full(len(columns.resources), ABSENT, dtype=np.int64)
    np.maximum.at(latest, holds.resource[accused], holds.sent[accused])
    involved = (holds.token >= least[holds.resource]) & (holds.returned < latest[holds.resource])
    involved[accused] = True
    return holds.operations(involved)


def of_promised_leases(columns: Columns) -> Ints:
    """Who was granted a lock before another's lease can have ended; and those others."""
    holds = _Holds(columns)
    end = holds.promised_at_most()
    earlier = holds.greatest_before(holds.returned, end, asked=holds.sent)
    lower = holds.greatest_before(holds.token, end, asked=holds.token)
    accused = np.flatnonzero(np.maximum(earlier, lower) > holds.returned)
    return holds.operations(holds.around(accused, holds.sent, end))


def of_beliefs(columns: Columns) -> Ints:
    """Who was granted a lock while others can have believed in theirs; and those others."""
    holds = _Holds(columns)
    end = holds.believed_at_most()
    place = np.empty(len(end), dtype=np.int64)
    place[stable_order(holds.returned)] = np.arange(len(end))
    accused = np.flatnonzero(holds.greatest_before(place, end, asked=place) > holds.returned)
    return holds.operations(holds.around(accused, holds.returned, end))


def of_long_waits(columns: Columns, least: Callable[[int], float], gap: float) -> Ints:
    """All that was asked of the locks for which somebody may have waited for longer than `least`.

    That is told the longest lease of a lock, in ns; gaps of up to `gap` are passed over.
    """
    rows = columns.rows(ACQUIRE, RENEW, RELEASE)
    leases = np.zeros(len(columns.resources), dtype=np.int64)
    np.maximum.at(leases, columns.resource[rows], columns.ttl[rows])
    acquires = columns.rows(ACQUIRE)  # by call
    until = np.where(columns.outcome[acquires] == FAIL, columns.returned[acquires], columns.attempt[acquires])
    waits = np.flatnonzero(until > columns.called[acquires])
    waits = waits[stable_order(columns.resource[acquires[waits]])]
    waited_for, firsts = np.unique(columns.resource[acquires[waits]], return_index=True)
    long = np.zeros(len(columns.resources), dtype=np.bool_)
    for resource, own in zip(waited_for.tolist(), np.split(waits, firsts[1:]), strict=False):
        longest = _longest_stretch(columns.called[acquires[own]], until[own], gap)
        long[resource] = longest > least(int(leases[resource]))
    return rows[np.flatnonzero(long[columns.resource[rows]])]


def _longest_stretch(starts: Ints, ends: Ints, gap: float) -> int:
    """The longest stretch that these cover together; they stand by their starts."""
    reached = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.append(True, starts[1:] - reached[:-1] > gap))
    last = np.append(first[1:], len(starts)) - 1
    return int((reached[last] - starts[first]).max())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _OfOwners:
    """Some operations, and the hold of each: of its owner on its resource."""

    rows: Ints
    hold: Ints


class _Holds:
    """The grants of all resources, and the renews and ends of their owners."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._rows = columns.rows(ACQUIRE, RENEW, RELEASE, REVOKE)
        (key,) = _keys((columns.resource[self._rows], columns.owner[self._rows]))
        different, self._owner = distinct(key)
        self._owners = len(different)
        f, outcome = columns.f[self._rows], columns.outcome[self._rows]
        granted = np.flatnonzero((f == ACQUIRE) & (outcome == OK))
        grants = self._rows[granted]
        self._of_grant = self._owner[granted]
        self._renews = self._chosen((f == RENEW) & (outcome == OK))
        self._lost = self._chosen((f == RENEW) & (outcome == FAIL))
        self._ends = self._chosen((f == RELEASE) | (f == REVOKE))
        attempt = columns.attempt[grants]
        self._grants = grants
        self.resource = columns.resource[grants]
        self.token = columns.token[grants]
        self.returned = columns.returned[grants]
        self.sent = np.where(attempt == ABSENT, columns.called[grants], attempt)

    def greatest_before(self, times: Ints, heights: Ints, *, asked: Ints) -> Ints:
        """For each grant, the greatest height of those of its resource at lower times than it asks for.

        ABSENT, which is below all, if there is none.
        """
        time, ask = _keys((self.resource, times), (self.resource, asked))
        different, number = distinct(heights)
        base = self.resource * (len(different) + 1)
        order = stable_order(time)
        highest = np.maximum.accumulate((base + number + 1)[order])
        place = np.searchsorted(time[order], ask)
        found = np.append(0, highest)[place] - base
        return np.append(ABSENT, different)[np.maximum(found, 0)]

    def promised_at_most(self) -> Ints:
        """No lease of a grant ends later: its latest start and ttl, cut short by the owner's end of it."""
        columns = self._columns
        by_owner = np.full(self._owners, ABSENT, dtype=np.int64)
        renews = self._renews.rows
        np.maximum.at(by_owner, self._renews.hold, _after(columns.called[renews], columns.ttl[renews]))
        own = _after(self.sent, columns.ttl[self._grants])
        return np.minimum(np.maximum(own, by_owner[self._of_grant]), self._given_up())

    def believed_at_most(self) -> Ints:
        """Nobody believes in a grant later: the owner ended it, or was told that it is lost."""
        lost = self._first(self._lost, self._columns.returned)
        return np.minimum(np.maximum(lost, self.returned), self._given_up())

    def around(self, accused: Ints, start: Ints, end: Ints) -> Flags:
        """The accused grants, and those that one of them returned in, from `start` on and before `end`."""
        first, last, moment = _keys(
            (self.resource, start),
            (self.resource, end),
            (self.resource[accused], self.returned[accused]),
        )
        moment.sort()
        involved: Flags = np.searchsorted(moment, last) > np.searchsorted(moment, first)
        involved[accused] = True
        return involved

    def operations(self, involved: Flags) -> Ints:
        """The rows of all operations of the owners of these grants."""
        wanted = np.zeros(self._owners, dtype=np.bool_)
        wanted[self._of_grant[np.flatnonzero(involved)]] = True
        return self._rows[np.flatnonzero(wanted[self._owner])]

    def _given_up(self) -> Ints:
        """When each grant's owner began to end it."""
        return self._first(self._ends, self._columns.called)

    def _first(self, chosen: _OfOwners, moments: Ints) -> Ints:
        """For each grant, the first of these moments of the operations that had not returned before its call.

        NEVER where the owner has several grants: any may be meant.
        """
        columns = self._columns
        called = np.full(self._owners, NEVER, dtype=np.int64)
        called[self._of_grant] = columns.called[self._grants]
        counts = columns.returned[chosen.rows] >= called[chosen.hold]
        first = np.full(self._owners, NEVER, dtype=np.int64)
        np.minimum.at(first, chosen.hold[counts], moments[chosen.rows[counts]])
        first[np.bincount(self._of_grant, minlength=self._owners) > 1] = NEVER
        found: Ints = first[self._of_grant]
        return found

    def _chosen(self, which: Flags) -> _OfOwners:
        places = np.flatnonzero(which)
        return _OfOwners(rows=self._rows[places], hold=self._owner[places])


def _grants(columns: Columns) -> Ints:
    return np.flatnonzero((columns.f == ACQUIRE) & (columns.outcome == OK))


def _after(start: Ints, ttl: Ints) -> Ints:
    """When a promise ends; ABSENT if there is none, NEVER if that is beyond all times."""
    end = start + np.where(ttl == ABSENT, 0, np.minimum(ttl, NEVER - start))
    promised: Ints = np.where(ttl == ABSENT, ABSENT, end)
    return promised


def _keys(*parts: tuple[Ints, Ints]) -> list[Ints]:
    """(resource, number) as numbers of the same order, comparable across the parts."""
    different, numbers = distinct(np.concatenate([number for _, number in parts]))
    split = np.split(numbers, np.cumsum([len(number) for _, number in parts])[:-1])
    span = len(different) + 1
    return [resource * span + number for (resource, _), number in zip(parts, split, strict=True)]

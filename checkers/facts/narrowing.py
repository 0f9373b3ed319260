"""Choose, on columns, the operations that the rules about a lock service have to look at.

`tokens`, `leases` and the rules based on them go through operations one by one. In a long history nearly all
operations are right. So arrays first answer a question that is never narrower than the rule: which operations
may be accused, and which may be the reason? Then the rule is applied to the operations of those owners alone.
Its result is the same, since every operation that an answer depends on is included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from checkers.facts.evidence import Evidence, in_columns
from checkers.history.columns import ABSENT, ACQUIRE, FAIL, NEVER, OK, RELEASE, RENEW, REVOKE, Flags, Ints
from checkers.history.memoized import memoized
from checkers.history.ranks import distinct, is_repeated, keys, stable_order

FEW = 256  # operations; for fewer, the rules take less time than choosing among them


def narrowed(evidence: Evidence, relevant: Callable[[GrantColumns], Ints]) -> Evidence:
    """Return what the clients did: only the relevant rows if the history is long."""
    operations = in_columns(evidence)
    if len(operations) < FEW:
        return evidence
    asked = bool(np.any(operations.columns.f == ACQUIRE))  # otherwise no client waited or was granted
    chosen = tuple(operations.at(relevant(_holds(evidence)))) if asked else ()
    return Evidence(history=replace(evidence.history, operations=chosen))


@memoized
def _holds(evidence: Evidence) -> GrantColumns:
    return GrantColumns(evidence)


def count_of_grants(evidence: Evidence) -> int:
    """Return how often a client got a lock."""
    columns = in_columns(evidence).columns
    return int(np.count_nonzero((columns.f == ACQUIRE) & (columns.outcome == OK)))


def grants_without(evidence: Evidence, field: Literal["token", "ttl"]) -> int:
    """Return how often a client got a lock without a fencing token, or without a lease by its request."""
    columns = in_columns(evidence).columns
    granted = (columns.f == ACQUIRE) & (columns.outcome == OK)
    return int(np.count_nonzero(granted & (getattr(columns, field) == ABSENT)))


def of_shared_tokens(holds: GrantColumns) -> Ints:
    """Return the grants that share their token with another grant of their resource."""
    (key,) = keys((holds.resource, holds.token))
    shared = np.isin(key, key[is_repeated(key)]) & (holds.token != ABSENT)
    return holds.grants[np.flatnonzero(shared)]


def of_lower_tokens(holds: GrantColumns) -> Ints:
    """Return the rows needed to judge grants that were sent after one with no lower token had returned."""
    highest = holds.greatest_before(holds.returned, holds.token, asked=holds.sent)
    accused = np.flatnonzero((highest >= holds.token) & (holds.token != ABSENT))
    if not len(accused):
        return accused
    resources = len(holds.columns.resources)
    least = np.full(resources, NEVER, dtype=np.int64)
    np.minimum.at(least, holds.resource[accused], holds.token[accused])
    latest = np.full(resources, ABSENT, dtype=np.int64)
    np.maximum.at(latest, holds.resource[accused], holds.sent[accused])
    involved = (holds.token >= least[holds.resource]) & (holds.returned < latest[holds.resource])
    involved[accused] = True
    return holds.rows_of(involved)


def of_promised_leases(holds: GrantColumns) -> Ints:
    """Return the rows needed to judge grants made while another owner's lease may have lasted.

    Of two grants in no order, the one that returned last may be accused.
    """
    end = holds.promised_at_most()
    earlier = holds.greatest_before(place := holds.places(), end, asked=place)
    lower = holds.greatest_before(holds.token, end, asked=holds.token)
    accused = np.flatnonzero(np.maximum(earlier, lower) > holds.returned)
    return holds.rows_of(holds.around(accused, holds.sent, end))


def of_beliefs(holds: GrantColumns) -> Ints:
    """Return the rows needed to judge grants made while another owner may have believed in its grant."""
    end = holds.believed_at_most()
    earlier = holds.greatest_before(place := holds.places(), end, asked=place)
    accused = np.flatnonzero(earlier > holds.returned)
    return holds.rows_of(holds.around(accused, holds.returned, end))


class GrantColumns:
    """The grants of all resources, and the renews and ends of their owners."""

    def __init__(self, evidence: Evidence) -> None:
        self.columns = columns = in_columns(evidence).columns
        self._rows = columns.rows(ACQUIRE, RENEW, RELEASE, REVOKE)
        (key,) = keys((columns.resource[self._rows], columns.owner[self._rows]))
        different, self._owner = distinct(key)
        self._owners = len(different)
        self._f, self._outcome = columns.f[self._rows], columns.outcome[self._rows]
        granted = np.flatnonzero((self._f == ACQUIRE) & (self._outcome == OK))
        grants = self._rows[granted]
        self._of_grant = self._owner[granted]
        attempt = columns.attempt[grants]
        self.grants = grants
        self.resource = columns.resource[grants]
        self.token = columns.token[grants]
        self.returned = columns.returned[grants]
        self.sent = np.where(attempt == ABSENT, columns.called[grants], attempt)

    def greatest_before(self, times: Ints, heights: Ints, *, asked: Ints) -> Ints:
        """Return, for each grant, the greatest height on its resource at a time before the one it asks for.

        ABSENT, which is below all, if there is none.
        """
        time, ask = keys((self.resource, times), (self.resource, asked))
        different, number = distinct(heights)
        base = self.resource * len(different)
        order = stable_order(time)
        highest = np.maximum.accumulate((base + number + 1)[order])
        place = np.searchsorted(time[order], ask)
        found = np.append(0, highest)[place] - base
        return np.append(ABSENT, different)[np.maximum(found, 0)]

    def places(self) -> Ints:
        """Return the place of each grant in the order in which they returned."""
        place = np.empty(len(self.returned), dtype=np.int64)
        place[stable_order(self.returned)] = np.arange(len(place))
        return place

    def promised_at_most(self) -> Ints:
        """Return upper bounds on lease ends: the owner's latest start plus ttl, or its own end if earlier."""
        columns = self.columns
        by_owner = np.full(self._owners, ABSENT, dtype=np.int64)
        rows, owner = self._chosen((self._f == RENEW) & (self._outcome == OK))
        np.maximum.at(by_owner, owner, _after(columns.called[rows], columns.ttl[rows]))
        np.maximum.at(by_owner, self._of_grant, _after(self.sent, columns.ttl[self.grants]))
        return np.minimum(by_owner[self._of_grant], self._given_up())

    def kept_at_most(self) -> Ints:
        """Return upper bounds on when holds were lost: by their owner's end, their lease or a later grant."""
        promised = self.promised_at_most()
        unlimited = np.zeros(self._owners, dtype=np.bool_)
        unlimited[self._of_grant[self.columns.ttl[self.grants] == ABSENT]] = True
        kept: Ints = np.where(unlimited[self._of_grant], self._given_up(), promised)
        return np.minimum(kept, self._superseded_at_most())

    def believed_at_most(self) -> Ints:
        """Return upper bounds on when beliefs in grants ended: by their owner's end, or a failed renewal."""
        lost = self._first((self._f == RENEW) & (self._outcome == FAIL), self.columns.returned)
        return np.minimum(np.maximum(lost, self.returned), self._given_up())

    def held_at_least(self, leases: Ints) -> Ints:
        """Return lower bounds on when grants ended: after the lease of their resource, or at a release."""
        released = np.full(self._owners, NEVER, dtype=np.int64)
        rows, owner = self._chosen((self._f == RELEASE) & (self._outcome == OK))
        np.minimum.at(released, owner, self.columns.returned[rows])
        lapses = self.returned + np.minimum(leases[self.resource], NEVER - self.returned)
        return np.minimum(lapses, np.maximum(released[self._of_grant], self.returned))

    def around(self, accused: Ints, start: Ints, end: Ints) -> Flags:
        """Mark the accused grants, and grants whose `[start, end)` has the return of an accused one."""
        first, last, moment = keys(
            (self.resource, start), (self.resource, end), (self.resource[accused], self.returned[accused])
        )
        moment.sort()
        involved: Flags = np.searchsorted(moment, last) > np.searchsorted(moment, first)
        involved[accused] = True
        return involved

    def rows_of(self, involved: Flags) -> Ints:
        """Return the rows of all operations of the owners of these grants."""
        wanted = np.zeros(self._owners, dtype=np.bool_)
        wanted[self._of_grant[np.flatnonzero(involved)]] = True
        return self._rows[np.flatnonzero(wanted[self._owner])]

    def _given_up(self) -> Ints:
        """Return when each grant's owner first called a release or revoke of it; NEVER if unknown."""
        return self._first((self._f == RELEASE) | (self._f == REVOKE), self.columns.called)

    def _superseded_at_most(self) -> Ints:
        """Return when the next grant asked for after each one returned; NEVER if it is the owner's own."""
        in_turn = stable_order(self.returned)
        place = self.greatest_before(-self.sent, -self.places(), asked=-self.returned)
        found = np.flatnonzero(place != ABSENT)
        later = in_turn[-place[found]]
        is_other = self._of_grant[later] != self._of_grant[found]
        superseded = np.full(len(self.grants), NEVER, dtype=np.int64)
        superseded[found[is_other]] = self.returned[later[is_other]]
        return superseded

    def _first(self, which: Flags, moments: Ints) -> Ints:
        """Return, for each grant, the first moment of its owner's such operations not over before its call.

        NEVER if the owner has several grants, since the operations may belong to any of them.
        """
        rows, owner = self._chosen(which)
        called = np.full(self._owners, NEVER, dtype=np.int64)
        called[self._of_grant] = self.columns.called[self.grants]
        counts = self.columns.returned[rows] >= called[owner]
        first = np.full(self._owners, NEVER, dtype=np.int64)
        np.minimum.at(first, owner[counts], moments[rows[counts]])
        first[np.bincount(self._of_grant, minlength=self._owners) > 1] = NEVER
        return first[self._of_grant]

    def _chosen(self, which: Flags) -> tuple[Ints, Ints]:
        """Return the rows of some operations, and the number of each one's owner on its resource."""
        places = np.flatnonzero(which)
        return self._rows[places], self._owner[places]


class Groups:
    """Rows grouped by number; the rows of one number are in the order of their moments."""

    def __init__(self, numbers: Ints, rows: Ints | None = None, moments: Ints | None = None) -> None:
        order = stable_order(numbers)
        self._numbers = numbers[order]
        self._rows = order if rows is None else rows[order]
        self._moments = self._rows if moments is None else moments[order]

    def of(self, number: int, since: int = ABSENT, until: int = NEVER) -> Ints:
        """Return the rows of a number whose moments are in a closed interval."""
        first, last = np.searchsorted(self._numbers, [number, number + 1])
        moments = self._moments[first:last]
        begin, end = np.searchsorted(moments, since), np.searchsorted(moments, until, side="right")
        return self._rows[first:last][begin:end]


def _after(start: Ints, ttl: Ints) -> Ints:
    """Return when a promise ends; ABSENT if there is none, NEVER if it lasts beyond all times."""
    return np.where(ttl == ABSENT, ABSENT, start + np.minimum(ttl, NEVER - start))


def of_long_waits(holds: GrantColumns, least: Callable[[int], float], gap: float) -> Ints:
    """Return all rows of the locks that clients may have waited for in vain for longer than `least`.

    `least` maps the longest lease of a lock to a time, both in ns; gaps of up to `gap` are ignored.
    """
    columns = holds.columns
    rows = columns.rows(ACQUIRE, RENEW, RELEASE)
    leases = np.zeros(len(columns.resources), dtype=np.int64)
    np.maximum.at(leases, columns.resource[rows], columns.ttl[rows])
    acquires = columns.rows(ACQUIRE)  # by call
    until = np.where(columns.outcome[acquires] == FAIL, columns.returned[acquires], columns.attempt[acquires])
    waits = np.flatnonzero(until > columns.called[acquires])
    waits = waits[stable_order(columns.resource[acquires[waits]])]
    waited_for, firsts = np.unique(columns.resource[acquires[waits]], return_index=True)
    held = Groups(holds.resource)
    held_at_least = holds.held_at_least(leases)
    long = np.zeros(len(columns.resources), dtype=np.bool_)
    for resource, own in zip(waited_for.tolist(), np.split(waits, firsts[1:]), strict=False):
        enough = least(int(leases[resource]))
        starts, ends = columns.called[acquires[own]], until[own]
        if _longest_stretch(starts, ends, gap) > enough:
            grants = held.of(resource)
            free = _longest_gap(holds.sent[grants], held_at_least[grants], starts[0], ends.max())
            long[resource] = free > enough
    return rows[np.flatnonzero(long[columns.resource[rows]])]


def of_starved(holds: GrantColumns, least: int, clients: int | None) -> Ints:
    """Return all rows of the locks that one client was refused for longer than `least`, in ns."""
    columns = holds.columns
    acquires = columns.rows(ACQUIRE)  # by call
    process = columns.process[acquires]
    client = process if clients is None else process % clients
    (key,) = keys((columns.resource[acquires], client))
    acquires = acquires[stable_order(key)]
    refused = columns.outcome[acquires] == FAIL
    is_new = ~refused
    is_new[1:] |= np.diff(np.sort(key)) > 0
    stretch = np.cumsum(is_new)
    first = np.full(stretch[-1] + 1, NEVER, dtype=np.int64)
    last = np.zeros(stretch[-1] + 1, dtype=np.int64)
    np.minimum.at(first, stretch[refused], columns.called[acquires[refused]])
    np.maximum.at(last, stretch[refused], columns.returned[acquires[refused]])
    is_long = np.zeros(len(columns.resources), dtype=np.bool_)
    is_long[columns.resource[acquires[last[stretch] - first[stretch] > least]]] = True
    rows = columns.rows(ACQUIRE, RENEW, RELEASE, REVOKE)
    return rows[np.flatnonzero(is_long[columns.resource[rows]])]


def _longest_stretch(starts: Ints, ends: Ints, gap: float) -> int:
    """Return the length of the longest stretch that these intervals cover together; sorted by start."""
    reached = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.append(True, starts[1:] - reached[:-1] > gap))
    last = np.append(first[1:], len(starts)) - 1
    return int((reached[last] - starts[first]).max())


def _longest_gap(starts: Ints, ends: Ints, first: int, last: int) -> int:
    """Return the length of the longest stretch from `first` to `last` that no interval covers."""
    order = stable_order(starts)
    reached = np.maximum.accumulate(np.append(first, ends[order]))
    return int((np.minimum(np.append(starts[order], last), last) - reached).max())

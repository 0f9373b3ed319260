"""The locks that a client waited for in vain for a long time, found on columns (see `narrowing`)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checkers.facts.narrowing import GrantColumns, Groups, keys
from checkers.history.columns import ACQUIRE, FAIL, NEVER, RELEASE, RENEW, REVOKE, Ints
from checkers.history.ranks import stable_order


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
    is_new = np.append(True, np.diff(np.sort(key)) > 0) | ~refused
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
    order = np.argsort(starts, kind="stable")
    reached = np.maximum.accumulate(np.append(first, ends[order]))
    return int((np.minimum(np.append(starts[order], last), last) - reached).max())

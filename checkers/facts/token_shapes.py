"""Do the tokens of a run look like clock readings, lease ids or random numbers, not fencing tokens?

**Clock readings** tell the time: each client has an offset such that its tokens, in some unit, lie between
the call and the return of its acquires. Unless the tokens are times of this century in parts of a second,
enough grants must have taken, from their attempts on, only a small part of the time that they all span. A
counter may count seconds by chance, so seconds must also match the calendar or this host's monotonic clock.

**Lease or session ids** have the number of a server in their highest 16 bits, a time below them, and
a counter in their lowest bits (etcd's lease ids, ZooKeeper's session ids).

**Random numbers** fall about as often as they rise from one grant of a resource to the next, and are
widely spread.

Any number that rises from grant to grant passes the token rules, so this is a notice, never a finding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from checkers.history.columns import ABSENT, ACQUIRE, NEVER, OK, Columns, Ints, indices
from checkers.history.ranks import stable_order

_ENOUGH = 8  # grants; fewer can look like anything
_MOST = 1000  # grants that are examined, the first ones
_SHARP = 20  # a grant can tell the time if the run spans more than this many times its duration
_SLACK = 2_000_000  # ns by which a clock may be off, and a ten-thousandth of the span for its drift
_DRIFT = 10_000
_UNITS = ((1, "nanoseconds"), (10**3, "microseconds"), (10**6, "milliseconds"), (10**9, "seconds"))
_SECOND = 10**9  # ns
_CALENDAR = (15 * 10**17, 42 * 10**17)  # ns since 1970: from 2017 to 2103
_SERVER, _COUNTER = 48, 16  # bits below the number of a server, and of a counter
_MOST_SERVERS = 16
_LEAST_FALLS, _MOST_FALLS = 0.25, 0.75  # of the steps from one grant to the next
_WIDE = 10_000  # numbers for each grant


def shape_of(columns: Columns, clients: int | None = None) -> str | None:
    """Return what the tokens of a run look like, in a few words; None if they may come from a counter.

    `clients` is the number of clients, if known: client c has the processes p with p % clients = c.
    """
    grants = indices((columns.f == ACQUIRE) & (columns.outcome == OK) & (columns.token != ABSENT))
    grants = grants[columns.returned[grants] != NEVER][:_MOST]
    if len(grants) < _ENOUGH:
        return None
    process = columns.process[grants]
    client = np.zeros_like(process) if clients is None else process % clients
    return _clock(columns, grants, client) or _lease_id(columns.token[grants]) or _random(columns, grants)


def _clock(columns: Columns, grants: Ints, client: Ints) -> str | None:
    """Return the clock, in any unit, that each token may have been read from during its acquire."""
    attempt, called, returned = columns.attempt[grants], columns.called[grants], columns.returned[grants]
    sent = np.where(attempt == ABSENT, called, attempt)
    span = int(returned.max() - called.min())
    is_short = (returned - sent) * _SHARP < span
    slack = _SLACK + span // _DRIFT
    for unit, name in _UNITS:
        times = [int(token) * unit for token in columns.token[grants]]
        if 2 * (max(times) - min(times)) < span:
            continue
        is_calendar = _CALENDAR[0] <= min(times) <= max(times) <= _CALENDAR[1]
        if is_calendar and unit < _SECOND and _offsets(times, unit + slack, slack, called, returned, client):
            return f"a wall clock in {name}"
        short = indices(is_short)
        if len(short) - len(np.unique(client[short])) < _ENOUGH:
            continue
        own = [times[place] for place in short.tolist()]
        offsets = _offsets(own, unit + slack, slack, sent[short], returned[short], client[short])
        if offsets and is_calendar:
            return f"a wall clock in {name}"
        if offsets and all(least <= 0 <= most for least, most in offsets):
            return f"a monotonic clock in {name}"
        if offsets and unit < _SECOND:
            return f"a clock in {name}"
    return None


def _offsets(
    times: Sequence[int], early: int, late: int, starts: Ints, ends: Ints, client: Ints
) -> list[tuple[int, int]]:
    """Return the least and the most that each client's clock can be off the recorder's clock, in ns.

    Return nothing if one client's tokens fit no clock. A reading may be up to `early` ns low or `late` high.
    """
    offsets = []
    for number in np.unique(client).tolist():
        own = indices(client == number).tolist()
        least = max(times[place] - int(ends[place]) for place in own) - late
        most = min(times[place] - int(starts[place]) for place in own) + early
        if least > most:
            return []
        offsets.append((least, most))
    return offsets


def _lease_id(tokens: Ints) -> str | None:
    servers = np.unique(tokens >> _SERVER)
    times = (tokens >> _COUNTER) & ((1 << (_SERVER - _COUNTER)) - 1)
    is_one = servers[0] > 0 and len(servers) <= _MOST_SERVERS and times.min() > 0
    near = all(np.ptp(times[tokens >> _SERVER == server]) <= 1 << _COUNTER for server in servers)
    return "the id of a lease or a session" if is_one and near else None


def _random(columns: Columns, grants: Ints) -> str | None:
    by_return = grants[stable_order(columns.returned[grants])]
    ordered = by_return[stable_order(columns.resource[by_return])]
    same = columns.resource[ordered][1:] == columns.resource[ordered][:-1]
    token = columns.token[ordered]
    falls, steps = np.count_nonzero((token[1:] < token[:-1]) & same), np.count_nonzero(same)
    is_wide = int(token.max()) - int(token.min()) > _WIDE * len(token)
    if steps + 1 < _ENOUGH or not is_wide or len(np.unique(token)) < len(token):
        return None
    return "random numbers" if _LEAST_FALLS * steps <= falls <= _MOST_FALLS * steps else None

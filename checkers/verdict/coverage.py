"""How hard a run tried: a run that never challenged the fence proves nothing about it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter, itemgetter

from checkers.facts.evidence import Evidence
from checkers.facts.leases import ENDS, granted, lease_of
from checkers.facts.narrowing import count_of_grants, narrowed, of_pauses
from checkers.history.faults import Fault, client_of, faults_of
from checkers.history.records import Op
from checkers.verdict.attempts import attempts
from checkers.vocabulary.counts import COVERAGE
from checkers.vocabulary.fault_kinds import KINDS


def coverage(evidence: Evidence) -> dict[str, int]:
    """Count what the run challenged; the names are those of `COVERAGE`, and of kinds of faults in the header.

    A fault counts once it was seen in force and seen healed; the kill of a client has no end. A late write is
    one that was called after a newer token had been granted, whatever became
    of it. `attempts` says which stale writes were tried. A write that failed for another reason than a
    fence, as for want of a connection, challenged nothing, and neither did one without an answer, unless it
    took effect all the same.

    Where the lock gives no tokens, a later hold counts as a higher token (see `hold_order`).

    A strict fence that refuses a holder's own second write has not been
    challenged: the tokens are equal.
    """
    counts = dict.fromkeys(COVERAGE, 0)
    counts["grants"] = count_of_grants(evidence)
    _count_faults(counts, evidence)
    return counts | attempts(evidence)


def _count_faults(counts: dict[str, int], evidence: Evidence) -> None:
    healed = [
        fault for fault in faults_of(evidence.history.faults) if fault.healed < math.inf or fault.is_death
    ]
    times = Counter(fault.words.count for fault in healed)
    for kind in (*KINDS.values(), *evidence.history.header.faults.values()):
        if kind.count is not None:
            counts[kind.count] = times[kind.count]
    pauses = [fault for fault in healed if fault.kind == "pause"]
    if not pauses:
        return
    known = _Holds(
        narrowed(evidence, partial(of_pauses, pauses=pauses, clients=evidence.history.header.clients))
    )
    others = 0
    for pause in pauses:
        hold = known.hit_by(pause)
        if hold is None:
            continue
        operations = known.of_owner(hold)
        if pause.owner is None and _was_over(hold, pause, operations):
            continue
        counts["pauses_past_lease"] += _promised_end(hold, operations, pause) < pause.healed
        others += sum(1 for _ in known.meanwhile(hold, pause))
    counts["grants_to_others"] = others


class _Holds:
    """The grants of a run, found by whom a pause names, and what their owners did."""

    def __init__(self, evidence: Evidence) -> None:
        self._header = evidence.history.header
        self._of_owner: dict[tuple[str | None, str | None], list[Op]] = defaultdict(list)
        self._of_client: dict[int, list[Op]] = defaultdict(list)
        self._returned: dict[str, list[tuple[int, Op]]] = defaultdict(list)
        for grant in granted(evidence.named("acquire")):
            self._of_owner[grant.owner, grant.resource].append(grant)
            self._of_owner[grant.owner, None].append(grant)
            self._of_client[client_of(grant.process, self._header)].append(grant)
            if grant.returned is not None:
                self._returned[grant.resource].append((grant.returned, grant))
        for grants in (*self._of_owner.values(), *self._of_client.values()):
            grants.sort(key=lambda grant: (grant.called, -grant.index))  # of one time the first last
        self._following: dict[str, list[int]] = {}  # the next place that may not be counted, of each
        for resource, returned in self._returned.items():
            returned.sort(key=itemgetter(0))
            self._following[resource] = list(range(len(returned) + 1))
        self._operations: dict[tuple[str, str | None], list[Op]] = defaultdict(list)
        for op in evidence.named("acquire", "renew", "release", "revoke"):
            self._operations[op.resource, op.owner].append(op)

    def hit_by(self, pause: Fault) -> Op | None:
        """The grant of the holder that a pause stopped; None if it stopped no holder.

        It is the nemesis' own word (owner and resource) where it gave one. Otherwise
        it is what client c, of the target `client:c`, got last before that: c is the
        number of an OS process, which runs under the process numbers p with
        `p % clients == c` if the header says how many clients there are, and under
        the number c alone if it does not.

        The nemesis names an owner from the stop point `granted` on, inside the acquire, and
        not every acquire says when the request that was granted was sent.
        """
        named = self._named(pause)
        begun = bisect_right(named, pause.began, key=attrgetter("called"))
        backwards = (named[place] for place in range(begun - 1, -1, -1))
        last = next((grant for grant in backwards if _was_sent(grant, pause.began)), None)
        return named[begun - 1] if last is None and begun and pause.owner is not None else last

    def _named(self, pause: Fault) -> Sequence[Op]:
        """The grants of the owner or the client that a pause names, by call."""
        if pause.owner is not None:
            return self._of_owner[pause.owner, pause.resource]
        client = pause.client
        return () if client is None else self._of_client[client]

    def of_owner(self, hold: Op) -> list[Op]:
        """What the owner of a hold did with the lock, by call."""
        return self._operations[hold.resource, hold.owner]

    def meanwhile(self, hold: Op, pause: Fault) -> Iterator[Op]:
        """Who else got the lock of this hold while the pause was in force, and was not counted yet."""
        returned, following = self._returned[hold.resource], self._following[hold.resource]
        place = bisect_left(returned, pause.began, key=itemgetter(0))
        while (place := _first_left(following, place)) < len(returned):
            moment, grant = returned[place]
            if moment > pause.healed:
                return
            if grant.owner != hold.owner and _is_later(grant, hold, pause):
                following[place] = place + 1
                yield grant
            place += 1


def _first_left(following: list[int], place: int) -> int:
    """The first place from one on that was not counted; it shortens the way of the next one that asks."""
    way = []
    while following[place] != place:
        way.append(place)
        place = following[place]
    for each in way:
        following[each] = place
    return place


def _was_sent(grant: Op, moment: int) -> bool:
    """Had the request that was granted been sent by then?"""
    by_answer = grant.returned is not None and grant.returned <= moment
    return by_answer or (grant.attempt is not None and grant.attempt <= moment)


def _is_later(grant: Op, hold: Op, pause: Fault) -> bool:
    """Can a lock that others learned of in a pause have been granted after the paused hold?

    They may learn of an earlier grant much later. Of a hold that was stopped inside its acquire, the token
    may be drawn after the pause, and tells nothing.
    """
    if hold.returned is None or hold.returned > pause.began:
        return True
    if grant.attempt is not None and grant.attempt > hold.returned:
        return True
    return grant.token is None or hold.token is None or grant.token > hold.token


def _was_over(hold: Op, pause: Fault, operations: Iterable[Op]) -> bool:
    """Had the holder, whose operations these are, begun to give the lock back when the pause began?"""
    return any(op.f in ENDS and hold.called <= op.called <= pause.began for op in operations)


def _promised_end(hold: Op, operations: list[Op], pause: Fault) -> float:
    """Until when the lease was promised by what had been sent before the pause, in ns."""
    lease = lease_of(hold, (op for op in operations if op.f not in ENDS and op.called <= pause.began))
    return math.inf if lease.set_by is None else lease.end

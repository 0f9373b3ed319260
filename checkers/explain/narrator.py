"""The words that all explanations share: who, when, on which line, and why it is certain.

Times are since the first event of the history, lines are those of
its file. A process number stands for one sequential thread of a client.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from checkers.explain.clock import Clock
from checkers.explain.fault_phrases import clients_left, restarted
from checkers.explain.late_releases import LateReleases
from checkers.explain.phrases import content, lock_on
from checkers.facts.by_call import ByCall
from checkers.facts.evidence import Evidence, log_of
from checkers.facts.fault_index import FaultIndex
from checkers.facts.history_index import HistoryIndex
from checkers.facts.hold_order import hold_order
from checkers.facts.leases import ENDS, granted, leases_of
from checkers.facts.restarts import restarts_of_storage
from checkers.history.faults import Fault, faults_of
from checkers.history.records import WRITES, Commit, Op, Outcome
from checkers.text.places import cited


@dataclass(frozen=True, slots=True)
class Story:
    """A conflict in words, and the operations that these rest on.

    It explains a conflict among the operations of its smallest proof alone.
    What it says of all others, it has looked up in the whole history.
    """

    summary: str
    steps: tuple[str, ...]
    proof: tuple[Op, ...] = ()  # what it rests on besides what the conflict names
    others: Iterable[Op] = ()  # what might seem to change it, and does not: if few, that is checked
    cause: tuple[Op, ...] = ()  # what probably caused it
    fault: Fault | None = None  # the one that the steps name: it opened the window
    meanwhile: tuple[Fault, ...] = ()  # the others that the steps name


class Narrator:
    """Knows the run that conflicts are found in."""

    def __init__(self, evidence: Evidence) -> None:
        self.history = evidence.history
        self.log = log_of(evidence)
        self.index = HistoryIndex(evidence)
        self.faults = FaultIndex(faults_of(evidence.history.faults), evidence.history.header)
        self.evidence = evidence
        self._own: dict[tuple[str, str | None, tuple[str, ...]], ByCall] = {}
        self._promised: dict[tuple[str, str | None], dict[int, float]] = {}

    @cached_property
    def _granted_on(self) -> dict[str, list[Op]]:
        """The grants of each lock."""
        grants: dict[str, list[Op]] = defaultdict(list)
        for op in granted(self.evidence.named("acquire")):
            grants[op.resource].append(op)
        return grants

    @cached_property
    def _grants(self) -> dict[tuple[str, int | None], Op]:
        """The first grant of each token."""
        grants: dict[tuple[str, int | None], Op] = {}
        for on_resource in self._granted_on.values():
            for op in on_resource:
                grants.setdefault((op.resource, op.token), op)
        return grants

    @cached_property
    def _releases(self) -> LateReleases:
        return LateReleases(self._leases, self.whom)

    @cached_property
    def _leases(self) -> dict[tuple[str, str | None], list[Op]]:
        """What each owner did with each lock, by resource and owner."""
        leases: dict[tuple[str, str | None], list[Op]] = defaultdict(list)
        for op in self.evidence.named("acquire", "renew", *ENDS):
            leases[op.resource, op.owner].append(op)
        return leases

    @cached_property
    def _clock(self) -> Clock:
        return Clock(started=self.history.started, ended=self.index.ended)

    def at(self, time: float) -> str:
        """A moment, since the start."""
        return self._clock.moment(time)

    def span(self, begin: float, end: float) -> str:
        """A stretch of time, since the start."""
        return self._clock.span(begin, end)

    def lasting(self, duration: float) -> str:
        """A duration in ns."""
        return self._clock.duration(duration)

    def own(self, grant: Op, since: int, until: float, *names: str) -> Iterator[Op]:
        """What the owner of a grant did with the lock: called by a moment, and not over before another.

        By call, the last one first; only the operations of these names, if there are any.
        """
        key = grant.resource, grant.owner, names
        if key not in self._own:
            own = self._leases.get(key[:2], ())
            self._own[key] = ByCall([op for op in own if not names or op.f in names])
        return self._own[key].backwards(until, since)

    def may_have_ended(self, holder: Op, grant: Op) -> tuple[Op, ...]:
        """Late operations of other holds, between two grants, that may have ended the first grant's lease.

        They are the answered releases; if there were none, the release without an answer that was sent
        last, of the holder's own client if there is one; otherwise the renewals. Those that certainly
        had no effect are left out, and so are answered ones of a hold that was still promised then:
        they let the holder in.
        """
        return self._releases.between(holder, grant)

    def service_fault(self, start: float, end: float) -> Fault | None:
        """The first fault on the lock service between two moments."""
        return self.faults.first_on_lock(start, end)

    def sent(self, op: Op) -> str:
        """When an operation was called, and where that is written."""
        if not op.lines:
            return "at an unknown time"
        return f"at {self.at(op.called)} ({cited(op.lines[0])})"

    def answered(self, op: Op) -> str:
        """When an operation returned, and where that is written."""
        if not op.lines:
            return "at an unknown time"
        if op.learned is None or len(op.lines) == 1:
            return f"never, in this record ({cited(op.lines[0])})"
        return f"at {self.at(op.learned)} ({cited(op.lines[-1])})"

    def name(self, op: Op) -> str:
        """What an operation is called within a sentence."""
        match op.f:
            case "read":
                return f"the read at {cited(op.lines[0])}"
            case "fence":
                return f"the {_refused(op)}fence with token {op.token}"
            case "acquire":
                of_token = "" if op.token is None else f" of token {op.token}"
                return f"the grant{of_token} to {self.whom(op)}"
        return f"the {_refused(op)}{op.f} of {content(op.value)}"

    def request(self, op: Op) -> str:
        """Whose write or fence it was, of which value, with which token and to which resource."""
        if op.f == "fence":
            return f"{self.whom(op)}'s fence of {op.resource} with token {op.token}"
        return f"{self.whom(op)}'s write of {content(op.value)}{self.with_token(op)} to {op.resource}"

    def stored(self, op: Op) -> str:
        """What an entry of the storage's own order is called: a write by its value."""
        return self.name(op) if op.f == "fence" else content(op.value)

    def ended(self, op: Op) -> str:
        """That it was over, when, and where that is written; within a sentence."""
        match op.f, op.outcome:
            case "read", _:
                return f"{self.whom(op)} got its answer {self.answered(op)}"
            case "acquire", _:
                return f"{self.whom(op)} was granted the lock {self.answered(op)}"
            case "fence", Outcome.OK:
                return f"the storage acknowledged it to {self.whom(op)} {self.answered(op)}"
            case _, Outcome.FAIL:
                return f"the storage refused it {self.answered(op)}"
        return f"the storage said ok to {self.whom(op)} {self.answered(op)}"

    def began(self, op: Op) -> str:
        """That it was called only after something else, when, and where that is written."""
        if op.f == "acquire":
            return (
                f"{self.whom(op)} did not send the request that was granted until {self.at(op.sent)}"
                f" (its call began at {cited(op.lines[0])})"
            )
        did = {"read": "called its read", "fence": "sent its fence"}.get(op.f, f"sent its {op.f}")
        return f"{self.whom(op)} {did} only later, {self.sent(op)}"

    def place(self, write: Op, *, first: bool = False) -> str:
        """Where a write stands in the storage's own order, the first or the last time."""
        numbers = self.numbers(write)
        if not numbers:
            return "missing from the storage's own order"
        return f"number {numbers[0 if first else -1]}"

    def numbers(self, write: Op) -> list[int]:
        """The numbers under which a write stands in the storage's own order."""
        return [] if self.log is None else self.log.numbers(write)

    def logged(self, proof: Iterable[Op], accused: Op) -> tuple[Op, ...] | None:
        """The storage's own order of a proof; a value that is wrongly read has the last of its places."""
        if self.log is None:
            return None
        read = accused.value if accused.f == "read" else None
        places = {
            op: self.log.places(op)[-1 if op.f in WRITES and op.value == read else 0]
            for op in proof
            if op.f in {*WRITES, "fence"} and self.log.places(op)
        }
        return tuple(sorted(places, key=lambda op: places[op]))

    def commit(self, write: Op) -> Commit:
        """The commit of a write that was not sent as it is logged."""
        if self.log is None:
            raise LookupError("there is no commit without a commit log")
        return self.log.unmatched_as(write).commit

    def with_token(self, op: Op) -> str:
        """With which token, if there is one."""
        return "" if op.token is None else f" with token {op.token}"

    def sent_step(self, op: Op) -> str:
        """Who sent a write or a fence, with which token, and when."""
        return f"{self.who(op)} sent {self.message(op)}{self.with_token(op)} {self.sent(op)}."

    def message(self, op: Op) -> str:
        """What a client sent to the storage: a value, or a fence."""
        return "a fence" if op.f == "fence" else content(op.value)

    def granted(self, op: Op) -> tuple[Op, ...]:
        """The grant of the hold that an operation was done in: by its token, or without one by its owner."""
        if op.token is None:
            grant = hold_order(self.evidence).grant_behind(op)
        else:
            grant = self._grants.get((op.resource, op.token))
        return () if grant is None else (grant,)

    def next_grant(self, grant: Op) -> float:
        """When the next later hold of the same resource was granted, in ns; infinity if none was.

        It has a higher token; without tokens, it was asked for after this one had been granted.
        """
        orders = self._by_token if grant.token is not None else self._by_request
        keys, first_return = orders[grant.resource]
        asked = grant.returned if grant.token is None else grant.token
        return math.inf if asked is None else first_return[bisect_right(keys, asked)]

    @cached_property
    def _by_token(self) -> dict[str, tuple[list[int], list[float]]]:
        """Of each lock the tokens in their order, and from each on when the first grant returned."""
        return {name: _first_returns(own, lambda op: op.token or 0) for name, own in self._granted_on.items()}

    @cached_property
    def _by_request(self) -> dict[str, tuple[list[int], list[float]]]:
        """The same by when each was asked for."""
        return {name: _first_returns(own, lambda op: op.sent) for name, own in self._granted_on.items()}

    def grant_steps(self, *grants: Op) -> list[str]:
        """Who was given which token when."""
        return [
            f"{self.who(grant)} was granted {lock_on(grant.resource)}{self.with_token(grant)}"
            f" {self.answered(grant)}."
            for grant in grants
        ]

    def restart(self, first: Op, then: Op | None) -> Fault | None:
        """The restart of the storage that came between two operations, or after the first."""
        end = math.inf if then is None or then.returned is None else then.returned
        return restarts_of_storage(self.history.faults).first_between(_over(first), end)

    def restart_steps(self, fault: Fault | None, first: Op) -> list[str]:
        """When the storage was restarted, seen from an operation."""
        if fault is None:
            return []
        when = "Meanwhile" if fault.began < _over(first) else "Then"
        what = f"{when} {restarted(fault)} at {self.at(fault.began)} (line {fault.lines[0]})"
        return [f"{what}{clients_left(fault)}."]

    def lease(self, grant: Op) -> float:
        """Until when a hold was promised, in ns."""
        place = (grant.resource, grant.owner)
        if place not in self._promised:
            leases = leases_of(self._leases.get(place, ()))
            self._promised[place] = {lease.grant.index: lease.end for lease in leases}
        return self._promised[place][grant.index]

    def least_above(self, rejected: Op) -> int:
        """The lowest token that makes a rejected one stale."""
        return (rejected.token or 0) + (self.history.header.policy == "inclusive")

    def who(self, op: Op) -> str:
        """Who did it, at the beginning of a sentence."""
        return self.whom(op).capitalize()

    def whom(self, op: Op) -> str:
        """Who did it, within a sentence: the client, where the header tells whose process that is."""
        if not op.lines:
            return "an unknown client"
        clients = self.history.header.clients
        return f"process {op.process}" if clients is None else f"client {op.process % clients}"


def _refused(op: Op) -> str:
    return "refused " if op.error == "stale" else ""


def _over(op: Op) -> int:
    """When an operation returned, or was called if it never did."""
    return op.called if op.returned is None else op.returned


def _first_returns(grants: Sequence[Op], key: Callable[[Op], int]) -> tuple[list[int], list[float]]:
    """The grants by a key, and from each one on when the first of them returned."""
    ordered = sorted(grants, key=key)
    returned = (op.returned or op.called for op in reversed(ordered))
    return [key(op) for op in ordered], [*accumulate(returned, min, initial=math.inf)][::-1]

"""The words that all explanations share: who, when, on which line, and why it is certain.

Times are since the first event of the history, and lines are lines of its file. A process number
means one sequential thread of a client.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TypeVar

from checkers.explain.clock import Clock
from checkers.explain.story import Step, clients_left, lock_on, restarted, step
from checkers.facts.evidence import Evidence
from checkers.facts.executions import QUEUE
from checkers.facts.history_index import HistoryIndex
from checkers.facts.hits import hits_of
from checkers.facts.holds import HoldIndex, holds_of
from checkers.facts.late_calls import ByCall
from checkers.facts.leases import ENDS
from checkers.facts.recorded import restarts_of_storage
from checkers.facts.surroundings import GrantStops
from checkers.history.faults import Fault, Faults, faults_of
from checkers.history.records import WRITES, Commit, Op, Outcome
from checkers.text.places import cited
from checkers.text.printable import content
from checkers.vocabulary.hazards import Hit

_Text = TypeVar("_Text")


class Narrator:
    """The run that conflicts are found in, and the words for its operations."""

    def __init__(self, evidence: Evidence) -> None:
        self.history = evidence.history
        self.log = evidence.log
        self.index = HistoryIndex(evidence)
        self.evidence = evidence
        self._own: dict[tuple[str, str | None, tuple[str, ...]], ByCall] = {}
        self._clock = Clock(started=self.history.started, ended=self.index.ended)
        self._moments: set[float] = set()  # in the text that is being written

    @cached_property
    def holds(self) -> HoldIndex:
        """The holds of the locks: who, from when, and until when."""
        return holds_of(self.evidence)

    @cached_property
    def hits(self) -> dict[int, list[tuple[Fault, Hit]]]:
        """The faults that hit each hold, by its row."""
        found: dict[int, list[tuple[Fault, Hit]]] = defaultdict(list)
        for each in hits_of(self.evidence):
            for hit in each.holds:
                found[hit.hold].append((each.fault, hit.whom))
        return found

    @cached_property
    def _leases(self) -> dict[tuple[str, str | None], list[Op]]:
        leases: dict[tuple[str, str | None], list[Op]] = defaultdict(list)
        for op in self.evidence.named("acquire", "renew", *ENDS):
            leases[op.resource, op.owner].append(op)
        return leases

    def with_distinct_times(self, write: Callable[[], _Text]) -> _Text:
        """Write a text; once more, with more digits, if moments that differ read the same."""
        usual, self._moments = self._clock, set()
        text = write()
        self._clock = usual.telling_apart(self._moments)
        try:
            return text if self._clock == usual else write()
        finally:
            self._clock = usual

    def at(self, time: float) -> str:
        """Format a moment, since the start."""
        self._moments.add(time)
        return self._clock.moment(time)

    def span(self, begin: float, end: float) -> str:
        """Format an interval, since the start."""
        self._moments |= {begin, end}
        return self._clock.span(begin, end)

    def lasting(self, duration: float) -> str:
        """Format a duration in ns."""
        return self._clock.duration(duration)

    def own(self, grant: Op, since: int, until: float, *names: str) -> Iterator[Op]:
        """Yield the owner's operations on a grant's lock, called by `until` and not over before `since`.

        The last call comes first. `names` selects operations, if given.
        """
        key = grant.resource, grant.owner, names
        if key not in self._own:
            own = self._leases.get(key[:2], ())
            self._own[key] = ByCall([op for op in own if not names or op.f in names])
        return self._own[key].backwards(until, since)

    @cached_property
    def grant_stops(self) -> GrantStops:
        """The stops between a grant and its answer."""
        return GrantStops(faults_of(self.history.faults))

    def faults_on(self, side: str, start: float, end: float) -> Iterator[Fault]:
        """Yield the faults on `lock`, `storage` or `client:3` that were in force between two moments."""
        faults = self._faults.get(side, Faults(()))
        return map(faults.__getitem__, faults.places_between(start, end))

    def fault_on(self, side: str, start: float, end: float) -> Fault | None:
        """Return the first fault on one of these that was in force between two moments."""
        return next(self.faults_on(side, start, end), None)

    def fault_on_queue(self, start: float, end: float) -> Fault | None:
        """Return the first fault on the servers of a queue that was in force between two moments."""
        found = (self.fault_on(side, start, end) for side in QUEUE)
        return min((each for each in found if each is not None), key=lambda each: each.began, default=None)

    @cached_property
    def _faults(self) -> dict[str, Faults]:
        own: dict[str, list[Fault]] = defaultdict(list)
        for fault in faults_of(self.history.faults):
            own[fault.target.partition(":")[0] if fault.client is None else f"client:{fault.client}"].append(
                fault
            )
        return {side: Faults(faults) for side, faults in own.items()}

    def sent(self, op: Op) -> str:
        """Say when an operation was called, and on which line."""
        if not op.lines:
            return "at an unknown time"
        return f"at {self.at(op.called)} ({cited(op.lines[0])})"

    def answered(self, op: Op) -> str:
        """Say when an operation returned, and on which line."""
        if not op.lines:
            return "at an unknown time"
        if op.learned is None or len(op.lines) == 1:
            return f"never, in this record ({cited(op.lines[0])})"
        return f"at {self.at(op.learned)} ({cited(op.lines[-1])})"

    def name(self, op: Op) -> str:
        """Name an operation within a sentence."""
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
        """Describe a write or fence: its client, value, token and resource."""
        if op.f == "fence":
            return f"{self.whom(op)}'s fence of {op.resource} with token {op.token}"
        return f"{self.whom(op)}'s write of {content(op.value)}{self.with_token(op)} to {op.resource}"

    def stored(self, op: Op) -> str:
        """Name an entry of the storage's own order: a write by its value."""
        return self.name(op) if op.f == "fence" else content(op.value)

    def ended(self, op: Op) -> str:
        """Say that an operation was over, when, and on which line; within a sentence."""
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
        """Say that an operation was called only after something else, when, and on which line."""
        if op.f == "acquire":
            return (
                f"{self.whom(op)} did not send the request that was granted until {self.at(op.sent)}"
                f" (its call began at {cited(op.lines[0])})"
            )
        did = {"read": "called its read", "fence": "sent its fence"}.get(op.f, f"sent its {op.f}")
        return f"{self.whom(op)} {did} only later, {self.sent(op)}"

    def place(self, write: Op, *, first: bool = False) -> str:
        """Say where the storage's own order has a write, the first or the last time."""
        numbers = self.numbers(write)
        if not numbers:
            return "missing from the storage's own order"
        return f"number {numbers[0 if first else -1]}"

    def numbers(self, write: Op) -> list[int]:
        """Return the numbers of a write in the storage's own order."""
        return [] if self.log is None else self.log.numbers(write)

    def stored_before(self, write: Op) -> Op | None:
        """Return what a write last replaced in the storage's own order; None if unknown."""
        log = self.log
        last = None if log is None else next(reversed(log.positions(write)), None)
        if log is None or last is None or last == log.first[log.resource[last]]:
            return None
        return log.op(last - 1)

    def logged(self, proof: Iterable[Op], accused: Op) -> tuple[Op, ...] | None:
        """Return a proof in the storage's own order; a wrongly read value has the last of its places."""
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
        """Return the commit of a write that was not sent as it is logged."""
        if self.log is None:
            raise LookupError("there is no commit without a commit log")
        return self.log.unmatched_as[write.index].commit

    def stored_token(self, op: Op) -> int | None:
        """Return the token of a write in the storage's own order, if it differs from the sent one."""
        positions = [] if self.log is None else self.log.positions(op)
        if self.log is None or not positions:
            return None
        token = self.log.entry(positions[0]).token
        return None if token == op.token else token

    def with_token(self, op: Op) -> str:
        """Name an operation's token, if it has one."""
        return "" if op.token is None else f" with token {op.token}"

    def sent_step(self, op: Op) -> Step:
        """Say who sent a write or a fence, with which token, and when."""
        return step(f"{self.who(op)} sent {self.message(op)}{self.with_token(op)} {self.sent(op)}.", op)

    def message(self, op: Op) -> str:
        """Name what a client sent to the storage: a value, or a fence."""
        return "a fence" if op.f == "fence" else content(op.value)

    def grant_behind(self, op: Op) -> Op | None:
        """Return the grant that an operation is or that began its hold, if known."""
        return op if op.f == "acquire" else self.holds.grant_behind(op)

    def granted(self, op: Op) -> tuple[Op, ...]:
        """Return `grant_behind` as a tuple of one or none."""
        grant = self.grant_behind(op)
        return () if grant is None else (grant,)

    def grant_steps(self, *grants: Op) -> list[Step]:
        """Say who was granted which token, and when."""
        granted = ((grant, f"{self.who(grant)} was granted {lock_on(grant.resource)}") for grant in grants)
        return [step(f"{what}{self.with_token(op)} {self.answered(op)}.", op) for op, what in granted]

    def restart(self, first: Op, then: Op | None) -> Fault | None:
        """Return the restart of the storage between two operations, or after the first."""
        end = math.inf if then is None else then.over
        return restarts_of_storage(self.history.faults).first_between(_over(first), end)

    def restart_steps(self, fault: Fault | None, first: Op) -> list[Step]:
        """Say when the storage was restarted, relative to an operation."""
        if fault is None:
            return []
        when = "Meanwhile" if fault.began < _over(first) else "Then"
        what = f"{when} {restarted(fault)} at {self.at(fault.began)} (line {fault.lines[0]})"
        return [step(f"{what}{clients_left(fault)}.", fault)]

    def lease(self, grant: Op) -> float:
        """Return when a hold's promised lease ended, in ns; -infinity without a promise."""
        return self.holds.lease(self.holds.operations.row(grant)).end

    def gave_up(self, grant: Op) -> bool:
        """Did the owner of a lock end its promise, by a release or a revoke?"""
        lease = self.holds.lease(self.holds.operations.row(grant))
        return lease.end == lease.given_up

    def least_above(self, rejected: Op) -> int:
        """Return the lowest token that makes a rejected one stale."""
        return (rejected.token or 0) + (self.history.header.policy == "inclusive")

    def who(self, op: Op) -> str:
        """Name the client of an operation, at the beginning of a sentence."""
        return self.whom(op).capitalize()

    def whom(self, op: Op) -> str:
        """Name the client of an operation within a sentence, or the process if its client is unknown."""
        if not op.lines:
            return "an unknown client"
        clients = self.history.header.clients
        return f"process {op.process}" if clients is None else f"client {op.process % clients}"


def _refused(op: Op) -> str:
    return "refused " if op.error == "stale" else ""


def _over(op: Op) -> int:
    """Return when an operation returned, or was called if it never did."""
    return op.called if op.returned is None else op.returned

"""The faults of a history: each from when it was seen in force to when it was seen healed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from checkers.history.fault_kinds import FaultKind, words_of
from checkers.history.records import FaultEvent, Header

_LONGEST = 18  # digits of a client's number


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault that was observed."""

    kind: str  # pause partition …
    target: str  # client:0 …
    began: int  # ns
    healed: float  # ns; infinity if it was never seen healed
    owner: str | None  # the hold that was hit, where the nemesis named it
    resource: str | None
    lines: tuple[int, ...]
    words: FaultKind
    at: str | None = None  # the stop point where the client that it hit had stopped itself
    left_behind: tuple[int, ...] = ()  # the clients that still reach the old primary

    @property
    def is_death(self) -> bool:
        """Is it the kill of a client, which no one restarts?"""
        return self.kind == "kill" and self.client is not None

    @property
    def client(self) -> int | None:
        """The number of the client that was hit, if it was one."""
        kind, _, number = self.target.partition(":")
        is_number = number.isascii() and number.isdecimal() and len(number) <= _LONGEST
        return int(number) if kind == "client" and is_number else None

    def overlaps(self, start: float, end: float) -> bool:
        """Was it in force at some moment of `[start, end]`?"""
        return self.began <= end and start <= self.healed


def faults_of(events: Iterable[FaultEvent]) -> list[Fault]:
    """Join each "in force" with the next "healed" of the same kind and target."""
    faults: list[Fault] = []
    in_force: dict[tuple[str, str], list[FaultEvent]] = defaultdict(list)
    for event in events:
        running = in_force[event.kind, event.target]
        if event.state == "in force":
            running.append(event)
        elif running:
            faults.append(_fault(running.pop(0), event))
    faults.extend(_fault(event, None) for running in in_force.values() for event in running)
    return sorted(faults, key=lambda fault: fault.began)


def _fault(began: FaultEvent, healed: FaultEvent | None) -> Fault:
    return Fault(
        kind=began.kind,
        target=began.target,
        began=began.time,
        healed=math.inf if healed is None else healed.time,
        owner=began.owner,
        resource=began.resource,
        lines=(began.line,) if healed is None else (began.line, healed.line),
        words=words_of(began.kind, began.words),
        at=began.at,
        left_behind=began.left_behind,
    )


def client_of(process: int, header: Header) -> int:
    """The client that runs under this process number."""
    return process if header.clients is None else process % header.clients


def is_client(process: int, client: int, header: Header) -> bool:
    """Is this process number one of that client's?"""
    return client_of(process, header) == client

"""Triggers of faults: a client that stops at a stop point, or a holder at a moment."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from checkers.vocabulary.hazards import Point
from harness.clients.shared_state import ANY, NOBODY, STOP_POINTS, SharedState
from harness.nemesis.fields import is_victim
from harness.nemesis.moments import Moment, holders

POLL = 0.001  # seconds


def wait_until(condition: Callable[[], bool], deadline: float, given_up: Callable[[], bool]) -> bool:
    """Poll a condition; False after the deadline (ns, CLOCK_MONOTONIC), or once `given_up`."""
    while not condition():
        if given_up() or time.monotonic_ns() >= deadline:
            return condition()
        time.sleep(POLL)
    return True


@dataclass(frozen=True, slots=True)
class Victim:
    """The possible victims of a fault: `holder`, `holder:r1` or `client:2`."""

    client: int = ANY
    resource: int = ANY

    @classmethod
    def named(cls, target: str) -> Victim:
        """Parse the value in a target file."""
        kind, _, which = target.partition(":")
        if kind == "client":
            return cls(client=int(which))
        return cls(resource=int(which.removeprefix("r"))) if which else cls()

    @classmethod
    def of_holder(cls, target: str) -> Victim:
        """Return the holder that reaches a fault's stop point; for a target that is none, any holder."""
        return cls.named(target) if is_victim(target) else cls()

    def among_holders(self, state: SharedState, when: Moment | None, rng: random.Random) -> int | None:
        """Choose a client that is in a critical section now, or the named client, at such a moment."""
        if self.client != ANY and when is None:
            return self.client
        fitting = [
            client
            for client, resource in holders(state, when)
            if self.resource in (ANY, resource) and self.client in (ANY, client)
        ]
        return rng.choice(fitting) if fitting else None


class StopRequest:
    """Asks the first client that reaches a stop point to stop itself there."""

    def __init__(self, state: SharedState, index: int, point: str, victim: Victim) -> None:
        self.point = point
        self._request = state.stop_requests[index]
        self._request.resource = victim.resource
        self._request.client = victim.client

    @property
    def stopped_client(self) -> int:
        """The client that stopped itself, or NOBODY."""
        return int(self._request.stopped_client)

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Request the stop for as long as the block lasts."""
        self.arm()
        try:
            yield
        finally:
            self.disarm()

    def arm(self) -> None:
        """Request the stop."""
        self._request.stopped_client = NOBODY
        self._request.point = STOP_POINTS.index(self.point) + 1

    def disarm(self) -> None:
        """Request it no more; a client may be stopping already."""
        self._request.point = 0

    def forget(self) -> None:
        """Forget the client that stopped, once it runs again."""
        self._request.stopped_client = NOBODY

    @contextmanager
    def reserving(self, resource: int) -> Iterator[None]:
        """Reserve a resource: a request that stopped its next holder too would prevent a takeover."""
        self._request.reserved_resource = resource
        try:
            yield
        finally:
            self._request.reserved_resource = NOBODY


ENOUGH = {Point.GRANTED: 10, Point.WRITE_SENT: 10, Point.RENEWING: 3}
"""Chances of all clients that are enough: grants, accepted writes, and holders that waited for a renewal."""


def unreached(state: SharedState, reported: Iterable[Point]) -> frozenset[Point]:
    """Return the reported points to which no client ever came, though there were enough chances by now."""

    def total(counts: Sequence[int], point: Point) -> int:
        return sum(counts[STOP_POINTS.index(point) :: len(STOP_POINTS)])

    return frozenset(
        point
        for point in reported
        if not total(state.came, point) and total(state.chances, point) >= ENOUGH[point]
    )

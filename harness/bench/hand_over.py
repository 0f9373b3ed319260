"""How long a lock takes to go to a client that waits for it: after a release, a stop and a death.

A holder that is stopped with SIGSTOP renews nothing any more, and one that is killed does not release: then
the lock goes over when its lease, or its session, ends.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.bench.orders import AcquireOnce, Measured, ReleaseOnce, Window
from harness.bench.workers import BenchWorkers
from harness.core.duration import NS

RESOURCE = "h0"
HOLDER, WAITER = 0, 1
RELEASES, ENDS = 20, 3
"""How often each is measured: the ends of a lease take as long as it."""
_WAITS = (0.05, 0.15)  # s; the waiter has asked by then, and polls at any phase


class NotGrantedError(Exception):
    """A lock did not go to the client that waited for it, maybe because its lease never ends."""


def granted_in(measured: Measured) -> int:
    """Return when a client was granted the lock that it waited for (ns); NotGrantedError if it was not."""
    if "granted" not in measured.moments:
        why = measured.latencies["acquire"].error
        raise NotGrantedError(f"the lock did not go to the client that waited for it: {why}")
    return measured.moments["granted"]


def takes(ttl: int) -> int:
    """Return about how long it takes with leases of `ttl` (ns), the holds of `stale_holds` included."""
    return round(RELEASES * _WAITS[1] * NS["s"]) + 4 * ENDS * ttl


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """Measures it with two clients."""

    clients: BenchWorkers
    ttl: int  # ns
    rng: random.Random

    def measure(self) -> Iterator[tuple[str, list[int]]]:
        """Yield after what, and how long each took (ns)."""
        yield "release", [self._after(self._release) for _ in range(RELEASES)]
        yield "stop", [self._after(self._stop, self._continue) for _ in range(ENDS)]
        yield "kill", [self._after(self._kill, lambda: None) for _ in range(ENDS)]

    def _after(self, end: Callable[[], int], mend: Callable[[], None] | None = None) -> int:
        """Return how long after the end of a hold (ns) the next one is granted."""
        self._acquired(HOLDER, self._give(HOLDER))
        order = self._give(WAITER)
        time.sleep(self.rng.uniform(*_WAITS))
        ended = end()
        try:
            granted = self._acquired(WAITER, order)
        finally:
            if mend is not None:
                mend()
        self._done(WAITER)
        return granted - ended

    def _give(self, client: int) -> AcquireOnce:
        order = AcquireOnce(window=self._window(), resource=RESOURCE)
        self.clients.give(client, order)
        return order

    def _acquired(self, client: int, order: AcquireOnce) -> int:
        return granted_in(self.clients.answer(client, order))

    def _done(self, client: int) -> int:
        order = ReleaseOnce(window=self._window(), resource=RESOURCE)
        self.clients.give(client, order)
        return self.clients.answer(client, order).moments["released"]

    def _release(self) -> int:
        return self._done(HOLDER)

    def _stop(self) -> int:
        stopped = time.monotonic_ns()
        self.clients.handle(HOLDER).suspend()
        return stopped

    def _continue(self) -> None:
        self.clients.handle(HOLDER).resume()
        self._done(HOLDER)

    def _kill(self) -> int:
        killed = time.monotonic_ns()
        self.clients.replace(HOLDER)
        return killed

    def _window(self) -> Window:
        now = time.monotonic_ns()
        return Window(begins=now, ends=now + 4 * self.ttl)

"""How long a holder believes in a lease that has ended, if it keeps its lock and does not look at a clock.

That is the price of lease buffering. The holder is stopped here until another client has its lock, and then
writes on until its next renewal is refused.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from harness.bench.hand_over import HOLDER, WAITER, granted_in
from harness.bench.orders import AcquireOnce, LockedWrites, ReleaseOnce, Window, Writing
from harness.bench.series import held
from harness.bench.workers import BenchWorkers
from harness.core.duration import NS

STALE_HOLDS = 3
_LASTS = 6  # TTLs; the most of one


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleHold:
    """A holder that was stopped until another client had its lock."""

    believed: int  # ns; from the grant of the other until it learned that the lease was lost
    writes: int  # that it sent in that time


def stale_holds(
    clients: BenchWorkers, writing: Writing, ttl: int, max_rate: float | None
) -> Iterator[StaleHold]:
    """Stop a holder that keeps its lock, and yield how long it believed in it.

    `ttl` in ns; it sends at most `max_rate` writes a second.
    """
    for _ in range(STALE_HOLDS):
        yield _stale_hold(clients, writing, ttl, max_rate)


def _stale_hold(clients: BenchWorkers, writing: Writing, ttl: int, max_rate: float | None) -> StaleHold:
    resource, now = held(HOLDER), time.monotonic_ns()
    every = max_rate and NS["s"] / max_rate
    window = Window(begins=now, ends=now + _LASTS * ttl, every=every)
    order = LockedWrites(window=window, writing=writing, resource=resource, keeps_lock=True)
    clients.give(HOLDER, order)
    time.sleep(ttl / 2 / NS["s"])  # it holds the lock, and has renewed its lease
    holder = clients.handle(HOLDER)
    holder.suspend()
    try:
        waiting = AcquireOnce(window=window, resource=resource)
        clients.give(WAITER, waiting)
        granted = granted_in(clients.answer(WAITER, waiting))
    finally:
        holder.resume()
    found = clients.answer(HOLDER, order)
    leaving = ReleaseOnce(window=window, resource=resource)
    clients.give(WAITER, leaving)
    clients.answer(WAITER, leaving)
    return StaleHold(
        believed=found.moments["learned"] - granted, writes=sum(sent > granted for sent in found.sent)
    )

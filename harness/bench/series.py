"""The loads that are put on a target's lock and storage."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from harness.bench.orders import LockedWrites, LockLoop, Order, Window, WriteLoop, WriteRounds, Writing
from harness.spec import Target
from workloads import storages

CLIENTS = (1, 8, 64)
MOST_CLIENTS = max(CLIENTS)
REPETITIONS = 3
SHARES = (0.25, 0.5, 0.75, 0.9)
"""Of the highest rate of a closed loop: what an open loop offers."""
PER_CYCLE = 2  # requests at least: acquire and release


def resources() -> tuple[str, ...]:
    """Return the resources that are locked or written, not both."""
    return tuple(f"r{number}" for number in range(MOST_CLIENTS))


def written() -> tuple[str, ...]:
    """Return all resources that are written."""
    return (*resources(), *map(held, range(MOST_CLIENTS)))


PLAIN = Writing(fencing="none", logged=False)
"""The write that a fence is compared with."""
LOCK_KEY = "lock-key"
"""The fencing that writes only while its lock is held."""
Locking = Literal["", "for each write", "kept"]
"""Whether writes are locked, and if so how long a client keeps the lock."""


def held(client: int) -> str:
    """Return the resource that a client writes under its lock, with the token of its grant."""
    return f"b{client}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSeries:
    """One load: clients that do the same for a while."""

    operation: str  # the one whose rate and latency count: "acquire" or "write"
    clients: int
    resources: int  # the first so many; with as many as clients, each has its own
    writing: Writing | None = None
    offered: float | None = None  # operations a second, whether or not earlier ones have ended
    lock: Locking = ""

    @property
    def key(self) -> str:
        """Its name, also in another bench of the same target."""
        on = "own resources" if self.is_uncontended else f"{self.resources} resources"
        how = [self.writing.fencing] if self.writing else []
        load = [] if self.offered is None else [f"{self.offered:g} a second"]
        load += [f"lock {self.lock}"] if self.lock else []
        return "/".join([self.operation, *how, f"{self.clients} clients", on, *load])

    @property
    def requests(self) -> int:
        """How many requests an operation takes at least."""
        written = self.writing is not None
        locked = not written or self.lock == "for each write"
        return PER_CYCLE * locked + written

    @property
    def keeps_lock(self) -> bool:
        """Does a client hold its lock all the time?"""
        needs_it = self.writing is not None and self.writing.fencing == LOCK_KEY
        return self.lock == "kept" or (needs_it and not self.lock)

    @property
    def waits(self) -> bool:
        """Do clients wait for a lock of another one? Then most locks poll."""
        return self.writing is None and not self.is_uncontended

    @property
    def is_uncontended(self) -> bool:
        """Has each client a resource of its own?"""
        return self.resources == self.clients

    def order(self, client: int, window: Window) -> Order:
        """Return what a client does."""
        names = resources()[: self.resources]
        own = names[client % self.resources]
        if self.writing is not None and (self.lock or self.keeps_lock):
            resource, kept = held(client), self.keeps_lock
            return LockedWrites(window=window, writing=self.writing, resource=resource, keeps_lock=kept)
        if self.writing is None:
            return LockLoop(window=window, resources=(own,) if self.is_uncontended else names)
        return WriteLoop(window=window, writing=self.writing, resource=own)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundsSeries:
    """Clients that write their own resource in each way, in turn."""

    clients: int
    writings: tuple[Writing, ...]

    @property
    def requests(self) -> int:
        """How many requests a round takes."""
        return len(self.writings)

    @property
    def keeps_lock(self) -> bool:
        """Does a client hold its lock all the time?"""
        return any(each.fencing == LOCK_KEY for each in self.writings)

    def order(self, client: int, window: Window) -> Order:
        """Return what a client does."""
        kept = self.keeps_lock
        resource = held(client) if kept else resources()[client]
        return WriteRounds(window=window, writings=self.writings, resource=resource, keeps_lock=kept)


def lock_series() -> Iterator[BenchSeries]:
    """Yield the closed loops of the lock."""
    for clients in CLIENTS:
        yield BenchSeries(operation="acquire", clients=clients, resources=clients)
    for clients, contended in ((8, 1), (64, 8), (64, 1)):
        yield BenchSeries(operation="acquire", clients=clients, resources=contended)


def open_series(rates: Sequence[float]) -> Iterator[BenchSeries]:
    """Yield the open loops of the lock, at these rates."""
    for rate in sorted(rates):
        yield BenchSeries(operation="acquire", clients=MOST_CLIENTS, resources=MOST_CLIENTS, offered=rate)


def write_series(target: Target) -> Iterator[BenchSeries]:
    """Yield the closed loops of the storage: for each fencing, apart and at one resource."""
    for clients, at in ((8, 8), (8, 1), (64, 1)):
        for fencing in fencings(target):
            if fencing != LOCK_KEY or clients == at:  # one lock has one holder
                writing = _writing(target, fencing)
                yield BenchSeries(operation="write", clients=clients, resources=at, writing=writing)


def write_apart(target: Target, fencing: str) -> BenchSeries:
    """Return the writes of eight clients that each write a resource of its own."""
    return BenchSeries(operation="write", clients=8, resources=8, writing=_writing(target, fencing))


def buffering_series(target: Target) -> Iterator[BenchSeries]:
    """Yield writes under a lock, for each write and kept."""
    writing = own_writing(target)
    if writing is None:
        return
    how: tuple[Locking, ...] = ("for each write", "kept")
    for clients, lock in itertools.product((1, 8), how):
        yield BenchSeries(operation="write", clients=clients, resources=clients, writing=writing, lock=lock)


def own_writing(target: Target) -> Writing | None:
    """Return how the target writes under a lock; None if a holder cannot write twice."""
    takes_token_again = target.storage.policy == "inclusive" or has_shared_connection(target)
    return _writing(target, target.storage.fencing) if takes_token_again else None


def rounds_series(target: Target) -> Iterator[RoundsSeries]:
    """Yield the rounds of all ways to write: with one client, and with several."""
    writings = tuple(_writings(target))
    if PLAIN in writings:  # it is what the others are compared with
        yield from (RoundsSeries(clients=clients, writings=writings) for clients in (1, 8))


def compares_fence(target: Target) -> bool:
    """Is the target's own fencing among the ways to write that are compared?"""
    fencing = target.storage.fencing
    return any(
        each.fencing == fencing and not each.raises_mark
        for series in rounds_series(target)
        for each in series.writings
    )


def _writings(target: Target) -> Iterator[Writing]:
    if target.storage.kind in storages.WITH_LOG:
        yield Writing(fencing="none", logged=True)
    for fencing in fencings(target):
        yield _writing(target, fencing)
    if target.fenced and target.storage.fencing != LOCK_KEY:
        yield Writing(fencing=target.storage.fencing, logged=True, raises_mark=True)


def _writing(target: Target, fencing: str) -> Writing:
    """Return a way to write without the log that Fencepost adds, where it adds one and can leave it out."""
    return Writing(fencing=fencing, logged=not has_shared_connection(target))


def has_shared_connection(target: Target) -> bool:
    """Can a client write in several ways on one connection? Not to a service or by a class of the user."""
    return target.storage.kind in storages.WITH_SHARED_CONNECTION


def fencings(target: Target) -> tuple[str, ...]:
    """Return the fencings that are compared: all of the storage's kind, or only the target's."""
    if not has_shared_connection(target):
        return (target.storage.fencing,)
    known = get_args(type(target.storage).model_fields["fencing"].annotation)
    return tuple(each for each in known if each != LOCK_KEY or each == target.storage.fencing)


def windows(
    clients: int, begins: int, lasts: int, rate: float | None, *, is_open: bool, most: float | None = None
) -> Callable[[int], Window]:
    """Return the window of each client; `rate` is that of all together, a second, as is `most`, its limit."""
    every = None if rate is None else clients * 1e9 / rate
    whole = Window(
        begins=begins,
        ends=begins + lasts,
        every=every,
        is_open=is_open,
        gap=clients * 1e9 / most if most else 0,
    )
    return lambda client: replace(whole, first=round((every or 0) * client / clients))

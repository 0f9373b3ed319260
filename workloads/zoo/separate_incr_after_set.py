"""The lock by SET NX PX, and then its token by INCR, in a command of its own.

Two round trips for one grant. Whoever is held up between them may lose the lease to
somebody else, who counts first; then INCR gives the newer token to the older lock, and the
storage believes the client that has lost the lock and refuses the one that has it.

What holds it up in real programs (a garbage collection, a log to a full disk, a metric sent
over the network) is a sleep here: each fifth grant is told to a server that does not answer
in time.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

from workloads.client import Session
from workloads.locks.polled import Held, PolledLock
from workloads.locks.redis import MILLISECOND, RedisService, lock_key, token_key
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings

SLOW = 5  # one metric in so many gets no answer
METRIC = 0.4  # seconds, after which it is given up: two leases


class SeparateIncrAfterSet:
    """Redis' lock, whose token is counted once the lock is set and has been told of."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        service: Any = _SetThenIncr(settings)
        self._lock = PolledLock(service, RedisService(settings), renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _SetThenIncr:
    def __init__(self, settings: LockSettings) -> None:
        self._service = RedisService(settings)
        self._connection = RedisConnection(settings.endpoints[0], settings.timeout)
        self._ttl = settings.ttl  # ns
        self._grants = itertools.count(1)

    def try_lock(self, resource: str, owner: str) -> Held | None:
        """Set the key if it is absent, tell of it, and count."""
        expiry = ("PX", self._ttl // MILLISECOND)
        if not self._connection.execute("SET", lock_key(resource), owner, "NX", *expiry):
            return None
        if next(self._grants) % SLOW == 0:
            time.sleep(METRIC)
        token = self._connection.execute("INCR", token_key(resource))
        return Held(token=token, ttl=self._ttl, credential=owner)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service, name)

"""Redis' lock on one server: SET NX PX, and the token from a counter in the same script.

The counter has no expiry and rises with every grant, so that the token does; it is
never reset but with the server's data. The lease is the key's expiry, promised from
when the granted request was sent. Only the owner's own key is renewed or deleted, by
scripts that compare and act in one step.

A replica that is promoted knows only what had reached it. With `wait_for_replica`, a grant
and a renewal count once WAIT says that it has them; until then nobody knows whether they
will last, and the answer is that.
"""

from __future__ import annotations

import time
from typing import Any

from workloads.client import Grant, NotApplied, Session, Unknown
from workloads.locks.renewals import Renewals
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings

MILLISECOND = 1_000_000  # ns
PATIENCE = 3  # TTLs that an acquire waits for the lock
POLL = 0.02  # seconds

GRANT = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
return redis.call('INCR', KEYS[2])
"""
_IF_MINE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call({command})
"""
RENEW = _IF_MINE.format(command="'PEXPIRE', KEYS[1], ARGV[2]")
RELEASE = _IF_MINE.format(command="'DEL', KEYS[1]")


class RedisLock:
    """One client of the lock: a hold at a time."""

    def __init__(
        self,
        connection: RedisConnection,
        renewing: RedisConnection,
        renewals: Renewals,
        ttl: int,
        wait: int = 0,
    ) -> None:
        self._connection = connection
        self._renewing = renewing
        self._renewals = renewals
        self._ttl = ttl  # ns
        self._wait = wait  # ms in which a replica must have what was written; 0: it is not asked

    def acquire(self, resource: str, owner: str) -> Grant:
        """Poll until my key could be set; NotApplied when it could not in three TTLs."""
        deadline = time.monotonic_ns() + PATIENCE * self._ttl
        while True:
            attempt = time.monotonic_ns()
            token = self._grant(resource, owner)
            if token is not None:
                break
            if time.monotonic_ns() > deadline:
                raise NotApplied("not free in time")
            time.sleep(POLL)
        self._renewals.begin(resource, owner)
        self._renewals.keep(lambda: self._renew(resource, owner))
        return Grant(token=token, ttl=self._ttl, attempt=attempt)

    def _grant(self, resource: str, owner: str) -> int | None:
        keys = (lock_key(resource), token_key(resource))
        token: int | None = self._connection.execute("EVAL", GRANT, 2, *keys, owner, self._milliseconds)
        if token is not None:
            self._reach_replica(self._connection)
        return token

    def _renew(self, resource: str, owner: str) -> dict[str, Any]:
        if not self._renewing.execute("EVAL", RENEW, 1, lock_key(resource), owner, self._milliseconds):
            raise NotApplied("lease lost")
        self._reach_replica(self._renewing)
        return {"ttl": self._ttl}

    def _reach_replica(self, connection: RedisConnection) -> None:
        """Wait until the replica has what this connection wrote; Unknown if it has not in time."""
        if self._wait and not connection.execute("WAIT", 1, self._wait):
            raise Unknown(f"the replica did not have it within {self._wait} ms")

    @property
    def _milliseconds(self) -> int:
        return self._ttl // MILLISECOND

    def release(self, resource: str, owner: str) -> None:
        """Delete the key if it is still mine; NotApplied if it is not."""
        self._renewals.stop()
        if not self._delete(resource, owner):
            raise NotApplied(f"{owner} is not the holder")

    def revoke(self, resource: str, owner: str) -> None:
        """Delete the key if an acquire that nobody knows the end of has set it."""
        self._renewals.stop()
        self._delete(resource, owner)

    def _delete(self, resource: str, owner: str) -> bool:
        return bool(self._connection.execute("EVAL", RELEASE, 1, lock_key(resource), owner))

    def reconnect(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()

    def close(self) -> None:
        """Stop the renewals, and drop both connections."""
        self._renewals.close(self._renewing.close)
        self._connection.close()


def lock_key(resource: str) -> str:
    """The key that is the lock."""
    return f"fencepost/{resource}/lock"


def token_key(resource: str) -> str:
    """The key of the counter that the tokens come from."""
    return f"fencepost/{resource}/token"


def connect(settings: LockSettings, renewals: Session) -> RedisLock:
    """Make a client with two connections: one for the hold, one for what renews it."""
    connection, renewing = (RedisConnection(settings.endpoints[0], settings.timeout) for _ in range(2))
    renewed = Renewals(renewals, settings.ttl, renewing.close)
    wait = round(settings.timeout * 1000 / 2) if settings.wait_for_replica else 0
    return RedisLock(connection, renewing, renewed, settings.ttl, wait)

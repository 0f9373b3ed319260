"""A lock on one Redis server: SET NX PX, and a token from a counter in the same script.

The counter has no expiry and rises with every grant; it is reset only with the server's
data. The lease is the key's expiry, counted from when the successful request was sent.
Scripts that compare and act in one step renew or delete only the owner's key.

A promoted replica has only the data that reached it. With `wait_for_replica`, a grant or a
renewal succeeds once WAIT confirms that the replica has it; until then its outcome is
unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from workloads.client import NotApplied, Session, Unknown
from workloads.locks.polling import PolledLease, PollingLock
from workloads.redis_connection import connection
from workloads.settings import LockSettings, RedisLockSettings, named

MILLISECOND = 1_000_000  # ns

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


class RedisLockService:
    """The commands to one server, over one connection."""

    def __init__(
        self,
        settings: LockSettings,
        granted: Callable[[str, str], None] = lambda _resource, _owner: None,
    ) -> None:
        self._granted = granted
        self._connection = connection(settings)
        self._names = settings.names
        self._ttl = settings.ttl  # ns
        waits = isinstance(settings, RedisLockSettings) and settings.wait_for_replica
        self._wait = round(settings.timeout * 1000 / 2) if waits else 0  # ms

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Set the owner's key if there is none, and increment the counter."""
        keys = (self._key(resource), token_key(resource, self._names))
        token: int | None = self._connection.execute("EVAL", GRANT, 2, *keys, owner, self._milliseconds)
        if token is None:
            return None
        if self._wait:
            self._granted(resource, owner)
        self._reach_replica()
        return PolledLease(token=token, ttl=self._ttl, credential=owner)

    def renew(self, resource: str, owner: str, credential: str) -> int:  # noqa: ARG002 - it is the owner
        """Restart the key's expiry; NotApplied if the key is not the owner's."""
        if not self._connection.execute("EVAL", RENEW, 1, self._key(resource), owner, self._milliseconds):
            raise NotApplied("lease lost")
        self._reach_replica()
        return self._ttl

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002 - as in the protocol
        """Delete the key if it is the owner's; False if it is not."""
        return bool(self._connection.execute("EVAL", RELEASE, 1, self._key(resource), owner))

    def close(self) -> None:
        """Drop the connection: the next command opens a new one."""
        self._connection.close()

    def _reach_replica(self) -> None:
        """Wait until the replica has this connection's writes; Unknown if that takes too long."""
        if not self._wait:
            return
        try:
            reached = self._connection.execute_on_same_connection("WAIT", 1, self._wait)
        except NotApplied as error:  # only the WAIT was not applied
            raise Unknown(str(error)) from error
        if not reached:
            raise Unknown(f"not replicated within {self._wait} ms")

    def _key(self, resource: str) -> str:
        return lock_key(resource, self._names)

    @property
    def _milliseconds(self) -> int:
        return self._ttl // MILLISECOND


def lock_key(resource: str, names: str = "") -> str:
    """The key that is the lock."""
    return f"fencepost/{named(names, resource)}/lock"


def token_key(resource: str, names: str = "") -> str:
    """The key of the token counter."""
    return f"fencepost/{named(names, resource)}/token"


def connect(settings: LockSettings, renewals: Session) -> PollingLock:
    """Make a client with two connections: one for the lock, one for its renewals."""
    calls = RedisLockService(settings, renewals.granted)
    return PollingLock(calls, RedisLockService(settings), renewals, settings.ttl)


def remove(settings: LockSettings) -> int:
    """Delete the keys of a run on each server; return how many there were."""
    deleted = 0
    for endpoint in settings.endpoints:
        with closing(connection(settings, endpoint)) as opened:
            deleted += opened.delete(f"fencepost/{settings.names}/")
    return deleted

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

from collections.abc import Callable

from workloads.client import NotApplied, Session, Unknown
from workloads.locks.polled import Held, PolledLock
from workloads.redis_connection import RedisConnection
from workloads.settings import LockSettings

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


class RedisService:
    """What the lock takes of one server, over one connection."""

    def __init__(
        self,
        settings: LockSettings,
        granted: Callable[[str, str], None] = lambda _resource, _owner: None,
    ) -> None:
        self._granted = granted
        self._connection = RedisConnection(settings.endpoints[0], settings.timeout, settings.password)
        self._ttl = settings.ttl  # ns
        self._wait = round(settings.timeout * 1000 / 2) if settings.wait_for_replica else 0  # ms

    def try_lock(self, resource: str, owner: str) -> Held | None:
        """Set the owner's key, if none is there, and count."""
        keys = (lock_key(resource), token_key(resource))
        token: int | None = self._connection.execute("EVAL", GRANT, 2, *keys, owner, self._milliseconds)
        if token is None:
            return None
        if self._wait:
            self._granted(resource, owner)
        self._reach_replica()
        return Held(token=token, ttl=self._ttl, credential=owner)

    def renew(self, resource: str, owner: str, credential: str) -> int:  # noqa: ARG002 - it is the owner
        """Begin the key's expiry again; NotApplied if it is not the owner's."""
        if not self._connection.execute("EVAL", RENEW, 1, lock_key(resource), owner, self._milliseconds):
            raise NotApplied("lease lost")
        self._reach_replica()
        return self._ttl

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002
        """Delete the key if it is the owner's; was it?"""
        return bool(self._connection.execute("EVAL", RELEASE, 1, lock_key(resource), owner))

    def close(self) -> None:
        """Drop the connection: the next command opens a new one."""
        self._connection.close()

    def _reach_replica(self) -> None:
        """Wait until the replica has what this connection wrote; Unknown if it has not in time."""
        if not self._wait:
            return
        try:
            reached = self._connection.follow("WAIT", 1, self._wait)
        except NotApplied as error:  # what was not applied is the WAIT
            raise Unknown(str(error)) from error
        if not reached:
            raise Unknown(f"the replica did not have it within {self._wait} ms")

    @property
    def _milliseconds(self) -> int:
        return self._ttl // MILLISECOND


def lock_key(resource: str) -> str:
    """The key that is the lock."""
    return f"fencepost/{resource}/lock"


def token_key(resource: str) -> str:
    """The key of the counter that the tokens come from."""
    return f"fencepost/{resource}/token"


def connect(settings: LockSettings, renewals: Session) -> PolledLock:
    """Make a client with two connections: one for the hold, one for what renews it."""
    holding = RedisService(settings, renewals.granted)
    return PolledLock(holding, RedisService(settings), renewals, settings.ttl)

"""pottery's Redlock: most of five Redis servers have to grant. It has no fencing token."""

from __future__ import annotations

from importlib.metadata import version

from pottery import Redlock
from pottery.exceptions import ReleaseUnlockedLock
from protocol import Failed, Fields, serve
from redis_server import connect


class PotteryRedlock:
    """The lock, without extensions; the object that took a lock releases it."""

    versions = {"pottery": version("pottery")}  # noqa: RUF012 (a constant)

    def __init__(self, start: Fields) -> None:
        self._ttl_ms = start["lock"]["ttl_ms"]
        self._held: dict[str, Redlock] = {}
        each = start["timeout_ms"] / 4000  # s; pottery takes back a round of SETs without most answers
        at = start["lock"]["endpoints"]
        self._masters = frozenset(connect(endpoint, start, socket_timeout=each) for endpoint in at)

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lock; pottery promises 1 % and 2 ms less than the expiry, for the drift of clocks."""
        lock = Redlock(key=resource, masters=self._masters, auto_release_time=self._ttl_ms / 1000)
        self._held[owner] = lock
        for master in self._masters:
            master.forget()
        if not lock.acquire(timeout=wait):
            errors = [error for master in self._masters for error in master.errors]
            raise errors[0] if errors else Failed("not free in time")
        of_round = lock._uuid  # noqa: SLF001 (the value of its SETs, which pottery shows nowhere)
        attempt = min(master.sent[of_round] for master in self._masters if of_round in master.sent)
        return {"token": None, "ttl_ms": int(self._ttl_ms * 0.99) - 2, "attempt_ns": attempt}

    def release(self, _resource: str, owner: str) -> None:
        """Release the lock with the object that took it."""
        lock = self._held.pop(owner, None)
        if lock is None:
            raise Failed("it was not taken")
        try:
            lock.release()
        except ReleaseUnlockedLock as error:
            if error.redis_errors:  # pottery counts a server that did not answer as one that refused
                raise TimeoutError(str(error)) from error
            raise Failed(str(error)) from error

    revoke = release

    def reconnect(self) -> None:
        """Drop all connections."""
        for master in self._masters:
            master.connection_pool.disconnect()


if __name__ == "__main__":
    serve(PotteryRedlock)

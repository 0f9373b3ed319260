"""PostgreSQL's advisory lock of a session, which has no lease: it ends when the session does.

Its token is the id of a transaction that begins under the lock.
"""

from __future__ import annotations

from postgres import VERSIONS, Session
from protocol import Failed, Fields, granted, serve
from psycopg.errors import LockNotAvailable

KEY = "hashtextextended(%s, 0)"


class AdvisoryLock:
    """The lock; the session that took it releases it."""

    versions = VERSIONS

    def __init__(self, start: Fields) -> None:
        self._session = Session(start)
        self._holds: set[str] = set()  # owners

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lock, then its token."""
        self._session.ask("SELECT set_config('lock_timeout', %s, false)", f"{wait:.3f}s")
        try:
            self._session.ask(f"SELECT pg_advisory_lock({KEY})", resource, wait=wait)
        except LockNotAvailable as error:
            raise Failed(str(error)) from error
        self._holds.add(owner)
        granted()
        token = self._session.ask("SELECT pg_current_xact_id()::text")
        return {"token": token, "ttl_ms": None}

    def release(self, resource: str, owner: str) -> None:
        """Release the lock."""
        if owner not in self._holds:
            raise Failed("its session has ended")
        if not self._session.ask(f"SELECT pg_advisory_unlock({KEY})", resource):
            raise Failed("it was not held")
        self._holds.remove(owner)

    def revoke(self, _resource: str, _owner: str) -> None:
        """Nothing is left to revoke: `reconnect` has ended the session, and the lock with it."""

    def reconnect(self) -> None:
        """End the session."""
        self._session.close()
        self._holds.clear()


if __name__ == "__main__":
    serve(AdvisoryLock)

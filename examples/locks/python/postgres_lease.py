"""A lease in a row of PostgreSQL, with an epoch that the statement that grants it counts up: its token."""

from __future__ import annotations

from functools import partial

from attempts import until_granted
from postgres import VERSIONS, Session
from protocol import Failed, Fields, serve

TABLE = """CREATE TABLE IF NOT EXISTS lease
           (resource text PRIMARY KEY, owner text, epoch bigint, ends timestamptz)"""
GRANT = """INSERT INTO lease VALUES (%s, %s, 1, clock_timestamp() + %s * interval '1 ms')
           ON CONFLICT (resource) DO UPDATE
           SET owner = excluded.owner, epoch = lease.epoch + 1, ends = excluded.ends
           WHERE lease.ends < clock_timestamp() RETURNING epoch"""
END = """UPDATE lease SET ends = '-infinity'
         WHERE resource = %s AND owner = %s AND ends > clock_timestamp() RETURNING epoch"""


class LeaseRow:
    """The lease; its end is by the clock of the server alone."""

    versions = VERSIONS

    def __init__(self, start: Fields) -> None:
        self._session = Session(start)
        self._ttl_ms = start["lock"]["ttl_ms"]
        if start["client"] is None:  # for the set-up, before any client starts
            self._session.ask(TABLE)

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lease: one statement grants it and counts."""
        grant = partial(self._session.ask, GRANT, resource, owner, self._ttl_ms)
        epoch, sent = until_granted(wait, grant)
        return {"token": epoch, "ttl_ms": self._ttl_ms, "attempt_ns": sent}

    def release(self, resource: str, owner: str) -> None:
        """End the lease if it is still this owner's; it outlives a session."""
        self._session.notice_end()
        if not self._session.ask(END, resource, owner):
            raise Failed("it has ended")

    revoke = release

    def reconnect(self) -> None:
        """End the session; the lease stays."""
        self._session.close()


if __name__ == "__main__":
    serve(LeaseRow)

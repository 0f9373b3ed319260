"""MariaDB's GET_LOCK: a lock that is bound to its session, and a token from a counter.

GET_LOCK gives no token. So the statement that gets the lock raises a counter of the resource, in
the same session: no other session has the lock meanwhile, and the counter rises with each grant.

The server frees the lock as soon as the session ends: when its connection breaks, or when it was
idle for longer than `wait_timeout`, which is the TTL here. So the client sends something three
times in a TTL. A session ends without a word to its client, and no time is promised: nothing is
recorded as a lease.

A client has one session, for its lock and for what keeps that alive.
"""

from __future__ import annotations

import threading
from contextlib import closing

from workloads.client import NotApplied, Session, Unknown
from workloads.locks.polling import PolledLease, PollingLock
from workloads.mariadb_connection import MariadbConnection, database_of, drop_database
from workloads.settings import LockSettings, named

SECOND = 1_000_000_000  # ns
PART = "lock"  # of the names of a run

CREATE = """CREATE TABLE IF NOT EXISTS {database}.counter (
    resource VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PRIMARY KEY, token BIGINT NOT NULL
) ENGINE=InnoDB"""
LOCK = """BEGIN NOT ATOMIC
    SET @granted = GET_LOCK(%(lock)s, 0), @token = 1;
    IF @granted THEN
        INSERT INTO {database}.counter VALUES (%(resource)s, 1)
        ON DUPLICATE KEY UPDATE token = @token := token + 1;
    END IF;
    SELECT @granted, @token;
END"""
HOLDS = "SELECT IS_USED_LOCK(%(lock)s) = CONNECTION_ID()"
RELEASE = "SELECT RELEASE_LOCK(%(lock)s)"


class GetLockService:
    """The statements of one client, over one connection; any thread may use it."""

    def __init__(self, settings: LockSettings) -> None:
        self._connection = MariadbConnection(
            settings, None, session=f"wait_timeout = {settings.ttl // SECOND}"
        )
        self._names = settings.names
        self._database = database_of(settings.names, PART)
        self._one_call = threading.Lock()
        self._is_created = False

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Take the lock if it is free, and raise the counter; None if it is taken."""
        with self._one_call:
            self._create()
            known: dict[str, str | int] = {"resource": resource, "lock": self._lock(resource)}
            try:
                ((granted, token),) = self._connection.execute(LOCK.format(database=self._database), known)
            except NotApplied:  # perhaps of the counter: then the session has the lock
                self._connection.close()
                raise
        return PolledLease(token=int(token or 0), ttl=None, credential=owner) if granted else None

    def _create(self) -> None:
        """Create the table, unless this client has; every error is NotApplied, since nothing was locked."""
        if self._is_created:
            return
        try:
            self._connection.execute(f"CREATE DATABASE IF NOT EXISTS {self._database}")
            self._connection.execute(CREATE.format(database=self._database))
        except Unknown as error:
            raise NotApplied(str(error)) from error
        self._is_created = True

    def renew(self, resource: str, owner: str, credential: str) -> None:  # noqa: ARG002 - the session is it
        """Keep the session alive; NotApplied if it does not hold the lock."""
        if not self._ask(HOLDS, resource):
            raise NotApplied("lock lost")

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002 - as above
        """Release the lock; False if this session did not hold it."""
        return self._ask(RELEASE, resource)

    def close(self) -> None:
        """End the session, which frees its lock: the next call opens a new one."""
        with self._one_call:
            self._connection.close()

    def _ask(self, query: str, resource: str) -> bool:
        with self._one_call:
            ((answer,),) = self._connection.execute(query, {"lock": self._lock(resource)})
        return bool(answer)

    def _lock(self, resource: str) -> str:
        return lock_name(resource, self._names)


def lock_name(resource: str, names: str = "") -> str:
    """The name of the lock, among all of the server."""
    return f"fencepost/{named(names, resource)}"


def connect(settings: LockSettings, renewals: Session) -> PollingLock:
    """Make a client with one connection, to which the lock is bound."""
    service = GetLockService(settings)
    return PollingLock(service, service, renewals, settings.ttl, is_promised=False)


def remove(settings: LockSettings) -> int:
    """Drop the database with the counters of a run; return whether there was one."""
    with closing(MariadbConnection(settings, None)) as connection:
        return drop_database(connection, database_of(settings.names, PART))

"""Kahuna's locks over its REST API: try-lock, try-extend and try-unlock.

The token is the answer's `fencingToken`, which counts the resource's grants from 0. Only a
persistent lock keeps its counter when the process ends; a request that does not say which it
wants makes an ephemeral one. An owner that requests a lock it already holds gets the same token,
and no new lease.

Field names follow Kahuna 1.1, the first release that calls the owner `owner`.
"""

from __future__ import annotations

import base64
import enum

from msgspec import Struct

from checkers.history.lines import Token
from workloads.client import NotApplied, Session, Unknown
from workloads.http_connection import HttpConnection
from workloads.locks.polling import PolledLease, PollingLock
from workloads.settings import KahunaLockSettings, LockSettings, named

MILLISECOND = 1_000_000  # ns
EPHEMERAL, PERSISTENT = range(2)


class Type(enum.IntEnum):
    """The type of an answer; after any other, such as "must retry", the request may still take effect."""

    LOCKED = 0
    BUSY = 1
    EXTENDED = 2
    UNLOCKED = 3
    INVALID_INPUT = 100
    LOCK_DOES_NOT_EXIST = 102
    INVALID_OWNER = 103


REFUSALS = {
    Type.BUSY: "busy",
    Type.INVALID_INPUT: "invalid input",
    Type.LOCK_DOES_NOT_EXIST: "the lock does not exist",
    Type.INVALID_OWNER: "another owner has the lock",
}
NOT_MINE = (Type.LOCK_DOES_NOT_EXIST, Type.INVALID_OWNER)


class KahunaAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to each request; the token is valid only if the type is LOCKED."""

    type: int
    fencing_token: Token | None = None


class KahunaLockService:
    """The requests to a server, over one connection."""

    def __init__(
        self, connection: HttpConnection, ttl: int, names: str = "", durability: int = PERSISTENT
    ) -> None:
        self._connection = connection
        self._names = names
        self._ttl = ttl  # ns
        self._durability = durability

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Take the lock if it is free; None if it is taken."""
        answer = self._ask("try-lock", resource, owner)
        if answer.type == Type.BUSY:
            return None
        _expect(answer, Type.LOCKED)
        if answer.fencing_token is None:
            raise Unknown("locked, but without a fencingToken")
        return PolledLease(token=answer.fencing_token, ttl=self._ttl, credential=owner)

    def renew(self, resource: str, owner: str, credential: str) -> int:  # noqa: ARG002 - the owner is it
        """Restart the lease and return its length (ns); NotApplied if it is lost."""
        _expect(self._ask("try-extend", resource, owner), Type.EXTENDED)
        return self._ttl

    def release(self, resource: str, owner: str, credential: str | None) -> bool:  # noqa: ARG002 - the owner is it
        """Release the lock; False if the owner did not hold it."""
        answer = self._ask("try-unlock", resource, owner)
        if answer.type in NOT_MINE:
            return False
        _expect(answer, Type.UNLOCKED)
        return True

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._connection.close()

    def _ask(self, request: str, resource: str, owner: str) -> KahunaAnswer:
        fields = {
            "resource": f"fencepost/{named(self._names, resource)}",
            "owner": base64.b64encode(owner.encode()).decode(),
            "expiresMs": self._ttl // MILLISECOND,
            "durability": self._durability,
        }
        return self._connection.call(f"/v1/locks/{request}", fields).read_as(KahunaAnswer)


def _expect(answer: KahunaAnswer, done: Type) -> None:
    if answer.type in REFUSALS:
        raise NotApplied(REFUSALS[Type(answer.type)])
    if answer.type != done:
        raise Unknown(f"type {answer.type}")


def connect(settings: LockSettings, renewals: Session) -> PollingLock:
    """Make a client with two connections: one for the lock, one for its renewals."""
    is_ephemeral = isinstance(settings, KahunaLockSettings) and settings.is_ephemeral
    durability = EPHEMERAL if is_ephemeral else PERSISTENT
    calls, renewing = (
        KahunaLockService(
            HttpConnection(settings.endpoints[0], settings.timeout), settings.ttl, settings.names, durability
        )
        for _ in range(2)
    )
    return PollingLock(calls, renewing, renewals, settings.ttl)

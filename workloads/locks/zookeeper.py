"""A lock in ZooKeeper, by our own recipe: a queue of ephemeral sequential znodes.

Each client creates a znode under the resource's znode. The first in the queue holds the
lock; every other client watches the znode before its own, and checks again once that is
gone. The fencing token is the czxid of the client's znode, which the answer to its creation
carries: the id of the transaction that queued it, so it rises along the queue.

The lease is the session: ephemeral znodes are deleted when it ends. It is recorded as `renew`
operations of the owner. A single server guarantees the session timeout from each request
that it answers. An ensemble does not: a member that is cut off may have taken the request
without the leader knowing, so no ttl is recorded there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kazoo.exceptions import NodeExistsError, NoNodeError

from workloads.client import Grant, NotApplied, Session, Unknown
from workloads.locks.renewals import SECOND, Renewals
from workloads.settings import LockSettings
from workloads.zookeeper_session import ZookeeperSession, login_of

PATIENCE = 3  # TTLs that an acquire waits for its turn
DIGITS = 10  # of the number that a sequential znode's name ends in


def _number(name: str) -> int:
    return int(name[-DIGITS:])


TOKENS: dict[str, Callable[[str, Any], int]] = {
    "czxid": lambda _path, stat: int(stat.czxid),
    "sequence": lambda path, _stat: _number(path),
}
"""How to get the fencing token from a znode's path and its stat."""


def _kazoo_reconnects() -> None:
    """Leave it to kazoo, which does so within the session."""


class ZookeeperLock:
    """One client of the lock; holds one lock at a time, bound to the session that created its znode."""

    def __init__(
        self, connect: Callable[[], ZookeeperSession], renewals: Session, settings: LockSettings
    ) -> None:
        self._connect = connect
        self._names = settings.names
        self._ttl = settings.ttl  # ns
        self._token_of = TOKENS[settings.token]
        self._promise = settings.ttl if len(settings.endpoints) == 1 else None
        self._renewals = Renewals(renewals, settings.ttl, _kazoo_reconnects, self._promise)
        self._session: ZookeeperSession | None = None
        self._abandoned = False
        self._parents: set[str] = set()
        self._path = ""

    def acquire(self, resource: str, owner: str) -> Grant:
        """Queue up and wait for this client's turn; NotApplied after three TTLs."""
        deadline = time.monotonic_ns() + PATIENCE * self._ttl
        self._begin(resource, owner)
        attempt = time.monotonic_ns()
        token = self._queue_up(resource, owner)
        self._renewals.keep(self._renew)
        try:
            if before := self._znode_before_mine():
                attempt = self._wait_for_my_turn(before, deadline)
        except Exception:
            self._renewals.stop()
            raise
        return Grant(token=token, ttl=None, attempt=attempt)

    def _wait_for_my_turn(self, before: str | None, deadline: int) -> int:
        """Wait to be first in the queue; return when the request that showed it was sent (ns)."""
        while before:
            self._wait(before, deadline)
            looked = time.monotonic_ns()
            self._call("sync", self._path)  # else a member that lags may show an old queue
            before = self._znode_before_mine()
        self._renewals.granted()
        self._renewals.renew(self._renew)  # the last renewal is older than the grant
        return looked

    def _begin(self, resource: str, owner: str) -> None:
        """Ensure a live session and the resource's znode."""
        self._renewals.begin(resource, owner)
        self._path = ""
        if self._session and (self._abandoned or self._session.is_lost):
            self._session.close()
            self._session = None
        self._abandoned = False
        if not self._renewals.renew(self._renew if self._session else self._open):
            raise NotApplied("no session")
        try:
            self._make_parents(resource)
        except Unknown as error:
            raise NotApplied(f"no queue: {error}") from error

    def _open(self) -> dict[str, Any]:
        self._session = self._connect()
        return {"ttl": self._promise}

    def _renew(self) -> dict[str, Any]:
        """Renew the session with a request, and check that this client's znode exists."""
        if self._call("exists", self._path or "/") is None:
            raise NotApplied("lease lost")
        return {"ttl": self._promise}

    def _make_parents(self, resource: str) -> None:
        for path in (_root(self._names), queue_of(resource, self._names)):
            if path not in self._parents:
                with suppress(NodeExistsError):
                    self._call("create", path)
                self._parents.add(path)

    def _queue_up(self, resource: str, owner: str) -> int:
        try:
            self._path, stat = self._call(
                "create",
                f"{queue_of(resource, self._names)}/{owner}-",
                owner.encode(),
                ephemeral=True,
                sequence=True,
                include_data=True,
            )
        except NoNodeError as error:
            self._parents.clear()  # the next acquire recreates it
            raise NotApplied("the queue was deleted") from error
        return self._token_of(self._path, stat)

    def _znode_before_mine(self) -> str | None:
        """Return the path before ours in the queue, None if ours is first; NotApplied if ours is gone."""
        parent, _, mine = self._path.rpartition("/")
        queue = sorted(self._call("get_children", parent), key=_number)
        if mine not in queue:
            raise NotApplied("session lost")
        place = queue.index(mine)
        return f"{parent}/{queue[place - 1]}" if place else None

    def _wait(self, path: str, deadline: int) -> None:
        """Wait until a znode is gone; leave the queue if that takes too long."""
        changed = threading.Event()
        left = (deadline - time.monotonic_ns()) / SECOND
        try:
            if left > 0:
                self._call("get", path, watch=lambda _event: changed.set())
                if changed.wait(left):
                    return
        except NoNodeError:
            return
        self._renewals.stop()
        self._leave()
        raise NotApplied("not free in time")

    def _leave(self) -> bool:
        """Delete this client's znode; False if it was gone already."""
        path, self._path = self._path, ""
        try:
            self._call("delete", path)
        except NoNodeError:
            return False
        return True

    def release(self, resource: str, owner: str) -> None:  # noqa: ARG002 - the znode identifies both
        """Delete this client's znode; NotApplied if it went with its session."""
        self._renewals.stop()
        if not self._leave():
            raise NotApplied(f"{owner} is not the holder")

    def revoke(self, resource: str, owner: str) -> None:  # noqa: ARG002 - the session identifies both
        """End the session: a znode that an unanswered request created goes with it."""
        self._renewals.stop()
        session, self._session = self._session, None
        if session:
            session.end()

    def reconnect(self) -> None:
        """Open a new session at the next acquire.

        Not earlier: closing this one could release a lock, and no release is recorded yet.
        """
        self._abandoned = True

    def close(self) -> None:
        """Stop the renewals and close the session."""
        if self._session:
            self._renewals.close(self._session.close)

    def _call(self, request: str, *arguments: Any, **more: Any) -> Any:
        if self._session is None:
            raise NotApplied("no session")
        return self._session.call(request, *arguments, **more)


def queue_of(resource: str, names: str = "") -> str:
    """The znode under which waiting clients queue up."""
    return f"{_root(names)}/{resource}"


def _root(names: str) -> str:
    return f"/fencepost-locks-{names}" if names else "/fencepost-locks"


def connect(settings: LockSettings, renewals: Session) -> ZookeeperLock:
    """Make a client; each one starts at another member."""
    first = settings.client % len(settings.endpoints)
    endpoints = settings.endpoints[first:] + settings.endpoints[:first]

    def open_session() -> ZookeeperSession:
        return ZookeeperSession(endpoints, settings.ttl / SECOND, settings.timeout, login_of(settings))

    return ZookeeperLock(open_session, renewals, settings)


def remove(settings: LockSettings) -> int:
    """Delete the znodes of a run; return how many there were."""
    opened = ZookeeperSession(settings.endpoints, settings.ttl / SECOND, settings.timeout, login_of(settings))
    return opened.delete_and_end(_root(settings.names))

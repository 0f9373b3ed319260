"""kazoo's Lock recipe on ZooKeeper, with the czxid of its znode as the fencing token: one more request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock
from protocol import Failed, Fields, granted, serve


class KazooLock:
    """The recipe; the session, which kazoo's own thread keeps alive, is the lease."""

    versions = {"kazoo": version("kazoo")}  # noqa: RUF012 (a constant)

    def __init__(self, start: Fields) -> None:
        self._session = {"hosts": start["lock"]["endpoints"], "timeout": start["lock"]["ttl_ms"] / 1000}
        self._timeout = start["timeout_ms"] / 1000
        self._calls = ThreadPoolExecutor()  # kazoo's have no deadline
        self._client: KazooClient | None = None
        self.reconnect()

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lock, then ask for its token; the session promises no length that an adapter knows."""
        lock = self._held[owner] = self._client.Lock(f"/locks/{resource}", owner)
        try:
            if not self._calls.submit(lock.acquire, timeout=wait).result(wait + self._timeout / 2):
                raise TimeoutError("its znode may be left")
        except LockTimeout as error:
            if self._calls.submit(lock._find_node).result(self._timeout / 2):  # noqa: SLF001 (no other way)
                raise
            raise Failed(str(error)) from error
        granted()
        znode = self._client.exists_async(f"{lock.path}/{lock.node}").get(timeout=self._timeout)
        return {"token": znode.czxid, "ttl_ms": None}

    def release(self, _resource: str, owner: str) -> None:
        """Release the lock; kazoo says nothing if it was lost with its session."""
        if not (lock := self._held.pop(owner, None)):
            raise Failed("its session has ended")
        if not self._calls.submit(lock.release).result(self._timeout):
            raise Failed("it was not held")

    def revoke(self, resource: str, owner: str) -> None:
        """Nothing is left to revoke: `reconnect` has ended the session, and every lock with it."""

    def reconnect(self) -> None:
        """End the session, which releases its locks, and begin another."""
        if old := self._client:
            self._calls.submit(lambda: (old.stop(), old.close()))
        self._held: dict[str, Lock] = {}
        self._client = KazooClient(**self._session)
        self._client.start_async().wait(self._timeout)


if __name__ == "__main__":
    serve(KazooLock)

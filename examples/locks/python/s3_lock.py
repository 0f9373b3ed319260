"""s3-locks: an object in a bucket, put on conditions, with the end of its lease. It has no fencing token."""

from __future__ import annotations

from importlib.metadata import version

import boto3
from attempts import until_granted
from botocore.config import Config
from botocore.handlers import add_expect_header
from loguru import logger
from protocol import Failed, Fields, serve
from s3_locks.main import MaxAttemptsReachedError, S3Lock

BUCKET = KEY = "fencepost"  # Fencepost's own server has this bucket and takes this key


class S3LocksLock:
    """Its S3Lock, tried once an acquire. It cannot revoke: a PUT without an answer left no ETag for that."""

    versions = {"s3-locks": version("s3-locks"), "boto3": version("boto3")}  # noqa: RUF012 (a constant)

    def __init__(self, start: Fields) -> None:
        logger.disable("s3_locks")
        self._ttl_ms = start["lock"]["ttl_ms"]
        self._held: dict[str, S3Lock] = {}
        limits = dict.fromkeys(("connect_timeout", "read_timeout"), start["timeout_ms"] / 1000)
        once = Config(retries={"total_max_attempts": 1}, proxies={}, **limits)
        url = f"http://{start['lock']['endpoints'][0]}"
        self._client = boto3.Session(KEY, KEY, None, "us-east-1").client("s3", endpoint_url=url, config=once)
        self._client.meta.events.unregister("before-call.s3", add_expect_header)  # which adds a second to it

    def acquire(self, resource: str, owner: str, wait: float) -> Fields:
        """Take the lock."""
        lock = S3Lock(BUCKET, f"lock/{resource}", self._ttl_ms / 1000, s3_client=self._client)
        _, sent = until_granted(wait, lambda: _is_granted(lock))
        self._held[owner] = lock
        return {"token": None, "ttl_ms": self._ttl_ms, "attempt_ns": sent}

    def release(self, _resource: str, owner: str) -> None:
        """Release the lock; it does not say whether it was still ours."""
        if owner not in self._held:
            raise Failed("not held")
        self._held.pop(owner).release()

    def reconnect(self) -> None:
        """Drop all connections."""
        self._client.close()


def _is_granted(lock: S3Lock) -> bool:
    try:
        lock.acquire()
    except MaxAttemptsReachedError:
        return False
    return True


if __name__ == "__main__":
    serve(S3LocksLock)

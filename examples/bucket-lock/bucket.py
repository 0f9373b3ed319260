"""Two locks that are objects in a bucket: a lock file that is deleted, and one with an epoch that stays."""

from __future__ import annotations

import json
import time
import uuid
from contextlib import suppress
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from fencepost import Grant, LockSettings, NotApplied, Session

BUCKET = "locks"
LOST = {"PreconditionFailed", "NoSuchKey", "404", "412", "ConditionalRequestConflict"}


class LockFile:
    """The usual one: the client that creates the object has the lock, and deletes it to release the lock."""

    def __init__(self, settings: LockSettings, session: Session) -> None:
        self._ttl, self._timeout = settings.ttl, settings.timeout
        self._address = settings.endpoints[0]
        self._prefix = settings.run
        self.reconnect()
        with suppress(ClientError):  # another client has made it
            self._client.create_bucket(Bucket=BUCKET)

    def acquire(self, resource: str, owner: str) -> Grant:
        """Poll for at most three leases."""
        deadline = time.monotonic_ns() + 3 * self._ttl
        while time.monotonic_ns() < deadline:
            attempt = time.monotonic_ns()
            if (grant := self._try(f"{self._prefix}/{resource}", owner, attempt)) is not None:
                return grant
            time.sleep(0.02)
        raise NotApplied("not free in time")

    def _try(self, key: str, owner: str, attempt: int) -> Grant | None:
        content, _ = self._read(key)
        if content is not None and content["until"] < time.time_ns():
            self._client.delete_object(Bucket=BUCKET, Key=key)  # expired
        elif content is not None:
            return None
        return self._put(key, {"owner": owner}, attempt, IfNoneMatch="*")

    def release(self, resource: str, owner: str) -> None:
        """Delete the object."""
        key = f"{self._prefix}/{resource}"
        content, _ = self._read(key)
        if content is None or content["owner"] != owner:
            raise NotApplied("not the holder")
        self._client.delete_object(Bucket=BUCKET, Key=key)

    revoke = release

    def reconnect(self) -> None:
        """Make a client that sends each request once, and gives up after the timeout."""
        self._client: Any = boto3.client(
            "s3",
            endpoint_url=f"http://{self._address}",
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",  # noqa: S106 - gofakes3 has no accounts
            config=Config(
                retries={"mode": "standard", "total_max_attempts": 1},
                connect_timeout=self._timeout,
                read_timeout=self._timeout,
                proxies={},
            ),
        )

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _read(self, key: str) -> tuple[dict[str, Any] | None, str]:
        try:
            found = self._client.get_object(Bucket=BUCKET, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] in LOST:
                return None, ""
            raise
        return json.loads(found["Body"].read()), found["ETag"]

    def _put(self, key: str, content: dict[str, Any], attempt: int, **condition: str) -> Grant | None:
        """Write on a condition; None if another client was first."""
        body = content | {"until": time.time_ns() + self._ttl, "nonce": uuid.uuid4().hex}
        try:
            self._client.put_object(Bucket=BUCKET, Key=key, Body=json.dumps(body), **condition)
        except ClientError as error:
            if error.response["Error"]["Code"] in LOST:
                return None
            raise
        return Grant(token=content.get("epoch"), ttl=self._ttl, attempt=attempt)


class EpochFile(LockFile):
    """The object stays: each holder replaces what it has read, with the next epoch as its token."""

    def _try(self, key: str, owner: str, attempt: int) -> Grant | None:
        content, etag = self._read(key)
        if content is None:
            return self._put(key, {"owner": owner, "epoch": 1}, attempt, IfNoneMatch="*")
        if content["owner"] and content["until"] > time.time_ns():
            return None
        return self._put(key, {"owner": owner, "epoch": content["epoch"] + 1}, attempt, IfMatch=etag)

    def release(self, resource: str, owner: str) -> None:
        """Replace the object by one without an owner, and keep its epoch."""
        key = f"{self._prefix}/{resource}"
        content, etag = self._read(key)
        if content is None or content["owner"] != owner:
            raise NotApplied("not the holder")
        if self._put(key, {"owner": "", "epoch": content["epoch"]}, 0, IfMatch=etag) is None:
            raise NotApplied("not the holder any more")

    revoke = release

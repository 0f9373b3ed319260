"""Objects in an S3 bucket: each is a JSON object, which a PUT replaces on a condition.

S3 compares ETags, and an ETag is the MD5 of a body. So each body has a nonce: the same bytes
would have the ETag of an object that had been replaced meanwhile (ABA).

botocore sends "Expect: 100-continue" before a body, and waits a second for the answer on top
of its timeout; here it does not. It takes a truncated answer for an empty one: the length of
each answer is compared with its header.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

from botocore.handlers import add_expect_header

from checkers.text.limits import MIB, described
from workloads import aws_connection
from workloads.aws_connection import Refused, SentNotice, call
from workloads.client import NotApplied, Unknown
from workloads.settings import BucketName, S3LockSettings, S3StorageSettings, Settings
from workloads.stored_object import LostRaceError, StoredObject

MAX_BODY = MIB
PLAIN_PORTS = (":80", ":443")
LOST_RACES = {"PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"}
"""Refusals of a conditional PUT because of other requests: 412, 409, or 404 if there is no object."""


def new_nonce() -> str:
    """Return what no other body has."""
    return secrets.token_hex(8)


class Bucket:
    """A bucket, over one connection."""

    def __init__(self, settings: Settings, nonce: Callable[[], str] = new_nonce, attempts: int = 1) -> None:
        """`nonce` makes what a body has in addition; a request is sent up to `attempts` times."""
        self._where = BucketName()
        if isinstance(settings, S3LockSettings | S3StorageSettings):
            self._where = settings.bucket
        self._timeout = settings.timeout
        self._nonce = nonce
        self._deadline = 0.0
        self._client = aws_connection.connect(
            "s3",
            settings,
            region=self._where.region,
            attempts=attempts,
            s3={"addressing_style": "path"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        self._notice = SentNotice(self._client, "s3.PutObject")
        events = self._client.meta.events
        events.unregister("before-call.s3", add_expect_header)
        events.register("before-sign.s3", self._name_host)
        events.register("before-send.s3", self._limit_time)
        events.register("response-received.s3", _verify_length)

    def deadline(self) -> float:
        """Return when a call that begins now must end, by the monotonic clock (s)."""
        return time.monotonic() + self._timeout

    def get(self, key: str, deadline: float, version: str = "") -> StoredObject | None:
        """Read an object; None if there is none."""
        chosen = {"VersionId": version} if version else {}
        try:
            found: StoredObject = self._call(self._read, deadline, Key=key, **chosen)
        except Refused as error:
            if error.code == "NoSuchKey":
                return None
            raise
        return found

    def _read(self, **parameters: Any) -> Any:
        answer = self._client.get_object(**parameters)
        if answer.get("ContentLength", 0) > MAX_BODY:
            raise Unknown(f"an object of more than {described(MAX_BODY)}")
        body = answer["Body"].read()
        try:
            return StoredObject(json.loads(body), answer["ETag"])
        except (ValueError, KeyError, RecursionError) as error:
            raise Unknown(f"not an object of Fencepost: {body[:80]!r}") from error

    def replace(
        self,
        key: str,
        old: StoredObject | None,
        content: dict[str, Any],
        deadline: float,
        sent: Callable[[], None] | None = None,
    ) -> StoredObject:
        """Put an object in place of the one that was read, or of none; LostRaceError if it has changed."""
        condition = {"IfMatch": old.version} if old else {"IfNoneMatch": "*"}
        try:
            return self._put(key, content, deadline, sent, condition)
        except Refused as error:
            if error.code in LOST_RACES:
                raise LostRaceError(str(error)) from error
            raise

    def put(
        self, key: str, content: dict[str, Any], deadline: float, sent: Callable[[], None] | None = None
    ) -> None:
        """Put an object, whatever is there."""
        self._put(key, content, deadline, sent, {})

    def _put(
        self,
        key: str,
        content: dict[str, Any],
        deadline: float,
        sent: Callable[[], None] | None,
        condition: dict[str, str],
    ) -> StoredObject:
        self._notice.expect(sent)
        body = json.dumps({**content, "nonce": self._nonce()}).encode()
        answer = self._call(self._client.put_object, deadline, Key=key, Body=body, **condition)
        return StoredObject(content, answer.get("ETag", ""))

    def versions(self, prefix: str) -> Iterator[list[dict[str, Any]]]:
        """Yield all versions of the objects whose keys begin with `prefix`, page by page.

        Real S3 says where the next page begins; gofakes3 does not, so it begins after the last version.
        """
        page: dict[str, Any] = {}
        after: dict[str, str] = {}
        while not page or page["IsTruncated"]:
            page = self._listed(prefix, **after)
            listed = page.get("Versions", [])
            yield listed
            if page["IsTruncated"]:
                last = listed[-1] if listed else {}
                after = {
                    "KeyMarker": page.get("NextKeyMarker") or last.get("Key", ""),
                    "VersionIdMarker": page.get("NextVersionIdMarker") or last.get("VersionId", ""),
                }

    def remove(self, prefix: str) -> int:
        """Delete all versions and delete markers of keys that begin with `prefix`; return how many."""
        is_versioned, removed = bool(self._versioning()), 0
        found: list[dict[str, str]] = []
        while listed := _versions_and_markers(self._listed(prefix), with_id=is_versioned):
            if listed == found:
                raise NotApplied(f"{found[0]['Key']} cannot be deleted")
            found = listed
            self._delete(found)
            removed += len(found)
        return removed

    def _delete(self, listed: list[dict[str, str]]) -> None:
        what = {"Objects": listed, "Quiet": True}
        answer = self._call(self._client.delete_objects, self.deadline(), Delete=what)
        if wrong := answer.get("Errors"):
            raise NotApplied(f"{len(wrong)} objects cannot be deleted, the first one because of {wrong[0]}")

    def _listed(self, prefix: str, **after: str) -> dict[str, Any]:
        page = self._call(self._client.list_object_versions, self.deadline(), Prefix=prefix, **after)
        assert isinstance(page, dict)  # noqa: S101 - boto3 has no types
        return page

    def keep_versions(self) -> None:
        """Make our own bucket keep every version; NotApplied if another does not."""
        if self._where.is_ours:
            on = {"Status": "Enabled"}
            self._call(self._client.put_bucket_versioning, self.deadline(), VersioningConfiguration=on)
        elif not self.keeps_versions():
            raise NotApplied(
                f"the bucket {self._where.name} keeps no versions, which are the order of its writes: "
                "enable its versioning (aws s3api put-bucket-versioning)"
            )

    def keeps_versions(self) -> bool:
        """Does it keep every version of an object?"""
        return self._versioning() == "Enabled"

    def _versioning(self) -> str:
        """Return "Enabled", "Suspended", or "" if it never kept any."""
        return str(self._call(self._client.get_bucket_versioning, self.deadline()).get("Status", ""))

    def close(self) -> None:
        """Drop the connection: the next call opens a new one."""
        self._client.close()

    def _call(self, request: Callable[..., Any], deadline: float, **parameters: Any) -> Any:
        if time.monotonic() >= deadline:
            raise NotApplied("no time was left for another request")
        self._deadline = deadline
        return call(request, Bucket=self._where.name, **parameters)

    def _limit_time(self, request: Any, **_more: Any) -> None:
        request.context["read_timeout"] = max(self._deadline - time.monotonic(), 0.001)

    def _name_host(self, request: Any, **_more: Any) -> None:
        """Name the server as the target does, not the proxy before it: AWS routes a request by its Host."""
        if self._where.host:
            host = self._where.host
            request.headers["Host"] = host.rpartition(":")[0] if host.endswith(PLAIN_PORTS) else host


def _versions_and_markers(page: dict[str, Any], *, with_id: bool) -> list[dict[str, str]]:
    listed = (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))
    keys = ("Key", "VersionId") if with_id else ("Key",)
    return [{key: each[key] for key in keys} for each in listed]


def _verify_length(response_dict: dict[str, Any] | None, **_more: Any) -> None:
    if response_dict is None or not isinstance(response_dict["body"], bytes):
        return  # botocore verifies a body that is read as a stream
    said, length = response_dict["headers"].get("content-length"), len(response_dict["body"])
    if said is not None and int(said) != length:
        raise Unknown(f"truncated answer: {length} of {said} bytes")

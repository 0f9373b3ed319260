"""A conditional write that the library sends again when it gets no answer.

By default, boto3 sends a PUT up to three times. The first one took effect, and only its answer
was lost; the second meets its own result, which is not the ETag that the client read, and is
refused with 412. The client reads again, finds a mark as high as its token, and reports a write
as stale that the storage has accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workloads.s3_bucket import Bucket
from workloads.settings import StorageSettings
from workloads.storages import s3
from workloads.stored_object import StoredObject

ATTEMPTS = 3  # the default of boto3


class ConditionalWriteRetried:
    """The S3 register, through a library that sends a request again that got no answer."""

    set_up = staticmethod(s3.set_up)
    committed = staticmethod(s3.committed)

    def __init__(self, settings: StorageSettings) -> None:
        bucket: Any = _Retried(settings)
        self._register = s3.S3Storage(settings, bucket)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)


class _Retried:
    def __init__(self, settings: StorageSettings) -> None:
        self._bucket = Bucket(settings, attempts=ATTEMPTS)

    def replace(
        self,
        key: str,
        old: StoredObject | None,
        content: dict[str, Any],
        deadline: float,
        sent: Callable[[], None] | None = None,
    ) -> None:
        """Put an object; `sent` is called early, because the library has no event for sending."""
        if sent is not None:
            sent()
        self._bucket.replace(key, old, content, deadline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bucket, name)

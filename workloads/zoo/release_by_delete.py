"""A lock in S3 whose release deletes the object, and leaves nothing behind in the bucket.

The epoch was in that object. So the next grant starts again at 1, and holders get tokens that
others have had before them.
"""

from __future__ import annotations

from typing import Any

from workloads.client import Session
from workloads.locks import s3
from workloads.s3_bucket import Bucket
from workloads.settings import LockSettings


class ReleaseByDelete:
    """The S3 lock, whose object is deleted with each release."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = s3.connect(settings, renewals)
        self._tidying = Bucket(settings)

    def release(self, resource: str, owner: str) -> None:
        """Release the lock, and leave nothing behind."""
        self._lock.release(resource, owner)
        self._tidying.remove(s3.lock_key(resource))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)

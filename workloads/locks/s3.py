"""A lock in an S3 bucket: an object per resource, which a PUT replaces on the condition of its ETag.

The token is the epoch in the object, which rises with each grant. (An ETag or a version is no token:
nothing says that they rise.)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial

from workloads.client import Session
from workloads.locks.conditional import ConditionalLockService, Held
from workloads.locks.polling import PollingLock
from workloads.s3_bucket import Bucket
from workloads.settings import LockSettings, named


def service(
    bucket: Bucket, ttl: int, names: str, held: Held, clock: Callable[[], int] = time.time_ns
) -> ConditionalLockService:
    """Make the lock service over one connection to a bucket; leases expire by `clock` (ns since 1970)."""
    return ConditionalLockService(bucket, ttl, held, key=partial(lock_key, names=names), clock=clock)


def lock_key(resource: str, names: str = "") -> str:
    """The key of the object that is the lock."""
    return f"fencepost-lock/{named(names, resource)}"


def connect(settings: LockSettings, renewals: Session) -> PollingLock:
    """Make a client with two connections to its gateway: one for the lock, one for its renewals."""
    own = settings.endpoints[settings.client % len(settings.endpoints)]
    settings = replace(settings, endpoints=(own,))
    held: Held = {}
    calls, renewing = (service(Bucket(settings), settings.ttl, settings.names, held) for _ in range(2))
    return PollingLock(calls, renewing, renewals, settings.ttl)


def remove(settings: LockSettings) -> int:
    """Delete all versions of the objects of a run; return how many there were."""
    with closing(Bucket(settings)) as bucket:
        return bucket.remove(lock_key("", settings.names))

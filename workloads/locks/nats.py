"""A lock in a JetStream key-value bucket: a key per resource, which an update replaces by its revision.

The token is the revision of the grant: the number of its message in the stream of the bucket, which
rises with every update of any key. The bucket is made once, before the clients start. If it is gone, so
are all locks and revisions: a client that made it again would repeat tokens, so it gets no lock.
"""

from __future__ import annotations

from contextlib import closing

from workloads.client import Session
from workloads.locks.conditional import ConditionalLockService, Held
from workloads.locks.polling import PollingLock
from workloads.nats_bucket import KeyValueBucket
from workloads.settings import LockSettings
from workloads.stored_object import StoredObject


def revision(granted: StoredObject) -> int:
    """Return the token of a grant."""
    return int(granted.version)


def connect(settings: LockSettings, renewals: Session) -> PollingLock:
    """Make a client with two connections: one for the lock, one for its renewals."""
    held: Held = {}
    calls, renewing = (
        ConditionalLockService(
            KeyValueBucket(settings, first=settings.client), settings.ttl, held, key=str, token=revision
        )
        for _ in range(2)
    )
    return PollingLock(calls, renewing, renewals, settings.ttl)


def set_up(settings: LockSettings) -> None:
    """Make the bucket of a run; NotApplied or Unknown if the servers do not do it in time."""
    with closing(KeyValueBucket(settings)) as bucket:
        bucket.create()


def remove(settings: LockSettings) -> int:
    """Delete the bucket of a run; return how many there were."""
    with closing(KeyValueBucket(settings)) as bucket:
        return int(bucket.remove())

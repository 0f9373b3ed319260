"""A lock in S3 where the clock of one client is an hour ahead.

Clients compare the expiry in the object with their own clocks, so to this one every lease has
expired as soon as it is granted. It takes the lock from holders that renew it in time.
"""

from __future__ import annotations

import time
from typing import Any

from workloads.client import Session
from workloads.locks import s3
from workloads.locks.conditional import Held
from workloads.locks.polling import PollingLock
from workloads.s3_bucket import Bucket
from workloads.settings import LockSettings

AHEAD = 3_600_000_000_000  # ns


class ClockAnHourAhead:
    """The S3 lock, with another clock for client 0."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        held: Held = {}
        clock = _ahead if settings.client == 0 else time.time_ns
        calls, renewing = (
            s3.service(Bucket(settings), settings.ttl, settings.names, held, clock) for _ in range(2)
        )
        self._lock = PollingLock(calls, renewing, renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


def _ahead() -> int:
    return time.time_ns() + AHEAD

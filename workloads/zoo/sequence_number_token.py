"""The number at the end of a ZooKeeper znode's name as the fencing token.

A lock's queue consists of sequential znodes, so the holder has a number that rises from one
to the next. But the queue's parent znode counts it. When someone deletes the empty parent, as
ZooKeeper itself does with container znodes, the next holder starts again at 0.
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from kazoo.exceptions import NoNodeError, NotEmptyError

from workloads.client import Session
from workloads.locks import zookeeper
from workloads.locks.renewals import SECOND
from workloads.settings import LockSettings
from workloads.zookeeper_session import ZookeeperSession


class SequenceNumberToken:
    """The ZooKeeper lock, whose last holder leaves nothing behind."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        self._lock = zookeeper.connect(replace(settings, token="sequence"), renewals)  # noqa: S106 - no password
        self._settings = settings

    def release(self, resource: str, owner: str) -> None:
        """Release the lock, and delete the queue if it is empty."""
        self._lock.release(resource, owner)
        tidying = ZookeeperSession(
            self._settings.endpoints, self._settings.ttl / SECOND, self._settings.timeout
        )
        with closing(tidying), suppress(NotEmptyError, NoNodeError):
            tidying.call("delete", zookeeper.queue_of(resource))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)

"""A client with a list of Redis servers, which asks the next one if the first gives no answer.

That keeps the lock available while a server does not answer, and looks like what a client of a
cluster does. But these servers know nothing of each other: each has locks of its own, and counts
tokens of its own. So the lock is granted while another client still holds it at the first server,
and with a token that is older than those before.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from workloads.client import NotApplied, Session, Unknown
from workloads.locks.polling import PolledLease, PollingLock
from workloads.locks.redis import RedisLockService
from workloads.settings import LockSettings


class FallbackToAnotherServer:
    """The Redis lock, at the first of several servers that answers."""

    def __init__(self, settings: LockSettings, renewals: Session) -> None:
        service = _FirstThatAnswers(settings)
        renewing: Any = _WhereGranted(settings, service)
        self._lock = PollingLock(service, renewing, renewals, settings.ttl)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


class _FirstThatAnswers:
    def __init__(self, settings: LockSettings) -> None:
        self._services = _one_for_each(settings)
        self.answered = 0  # the place of the server that answered last

    def try_lock(self, resource: str, owner: str) -> PolledLease | None:
        """Ask one server after another, until one answers."""
        for place, service in enumerate(self._services):
            self.answered = place
            with suppress(NotApplied, Unknown):
                return service.try_lock(resource, owner)
        raise Unknown("no server answered")

    def renew(self, resource: str, owner: str, credential: str) -> int:
        """Restart the lease at the server that granted it."""
        return self._services[self.answered].renew(resource, owner, credential)

    def release(self, resource: str, owner: str, credential: str | None) -> bool:
        """Release the lock at the server that granted it."""
        return self._services[self.answered].release(resource, owner, credential)

    def close(self) -> None:
        """Drop all connections."""
        for service in self._services:
            service.close()


class _WhereGranted:
    """Renews over connections of its own."""

    def __init__(self, settings: LockSettings, service: _FirstThatAnswers) -> None:
        self._services = _one_for_each(settings)
        self._service = service

    def __getattr__(self, name: str) -> Any:
        return getattr(self._services[self._service.answered], name)


def _one_for_each(settings: LockSettings) -> list[RedisLockService]:
    return [RedisLockService(replace(settings, endpoints=(endpoint,))) for endpoint in settings.endpoints]

"""Lock services, by the name that targets give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workloads.client import Lock, Session
from workloads.locks import etcd


@dataclass(frozen=True, slots=True, kw_only=True)
class LockSettings:
    """Where a client finds its lock service, and what it asks of it."""

    kind: str
    endpoints: tuple[str, ...]  # host:port of each server, through this client's own edges
    ttl: int  # ns
    timeout: float  # seconds; of each call
    client: int


def _etcd(settings: LockSettings, renewals: Session) -> Lock:
    return etcd.connect(settings.endpoints, settings.ttl, settings.timeout, settings.client, renewals)


LOCKS: dict[str, Callable[[LockSettings, Session], Lock]] = {"etcd": _etcd}


def connect(settings: LockSettings, renewals: Session) -> Lock:
    """Make a client; what it does beside its calls, such as keep-alives, is recorded in `renewals`."""
    return LOCKS[settings.kind](settings, renewals)

"""The user's own services, which a target names by their address: they are already running."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing

from harness.core.errors import ServerNotReadyError
from harness.spec import LockSpec, StorageSpec, Target
from harness.spec.locks import HttpLock
from harness.spec.storages import HttpStorage
from harness.spec.url import endpoint
from workloads.client import NotApplied
from workloads.http_connection import HttpConnection

CONNECTING = 2.0  # seconds


def endpoints(spec: LockSpec | StorageSpec, started: Iterable[str]) -> tuple[str, ...]:
    """Return the endpoints of one side: those of the started servers, or its own URL."""
    return (endpoint(spec.url),) if isinstance(spec, HttpLock | HttpStorage) else tuple(started)


def check(target: Target) -> None:
    """Raise ServerNotReadyError if a service cannot be reached."""
    for side, spec in (("lock", target.lock), ("storage", target.storage)):
        for address in endpoints(spec, ()):
            try:
                with closing(HttpConnection(address, CONNECTING)) as connection:
                    connection.connect()
            except NotApplied as error:
                raise ServerNotReadyError(
                    f"nothing answers at {side}.url http://{address}: {error}; start the service first"
                ) from error

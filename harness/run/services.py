"""The user's own services, which a target names by their address: they are already running."""

from __future__ import annotations

from contextlib import closing

from harness.core.errors import ServerNotReadyError
from harness.spec import Target
from harness.spec.url import endpoint
from workloads.client import NotApplied
from workloads.http_connection import HttpConnection

CONNECTING = 2.0  # seconds


def check(target: Target) -> None:
    """Raise ServerNotReadyError if a service cannot be reached."""
    for side, spec in (("lock", target.lock), ("storage", target.storage)):
        url = getattr(spec, "url", None)
        if not url:
            continue
        try:
            with closing(HttpConnection(endpoint(url), CONNECTING)) as connection:
                connection.connect()
        except NotApplied as error:
            raise ServerNotReadyError(
                f"nothing answers at {side}.url http://{endpoint(url)}: {error}; start the service first"
            ) from error

"""The primary of Redis servers that Sentinel watches, as redis-py's own client of Sentinel finds it.

Each new connection asks the sentinels, as a connection of redis-py's pool does. One that is open is kept
until an error closes it: also to a primary that has been replaced, for as long as that answers.
"""

from __future__ import annotations

from typing import Any

from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry
from redis.sentinel import Sentinel

from workloads.client import NotApplied
from workloads.settings import SENTINEL_SERVICE, RedisLockSettings, host_and_port


def find_primary(settings: RedisLockSettings) -> str:
    """Return the endpoint of the primary; NotApplied if no sentinel can be reached that knows one.

    Each sentinel is asked once, with the deadline of a call.
    """
    options: dict[str, Any] = {
        "socket_timeout": settings.timeout,
        "socket_connect_timeout": settings.timeout,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "driver_info": None,
    }
    try:
        sentinels: Any = Sentinel  # redis-py has no types here
        with sentinels(map(host_and_port, settings.sentinels), sentinel_kwargs=options) as found:
            host, _ = found.discover_master(SENTINEL_SERVICE)
    except RedisError as error:  # it describes whole connection pools
        raise NotApplied("not connected: no sentinel that was reached names a primary") from error
    return settings.announced[host]

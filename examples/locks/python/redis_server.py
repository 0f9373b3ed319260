"""The connection to a Redis server, with a deadline for every call and without retries."""

from __future__ import annotations

from typing import Any, TypeVar

from protocol import Fields
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

AnyRedis = TypeVar("AnyRedis", bound=Redis)


def connect(kind: type[AnyRedis], endpoint: str, start: Fields, **options: Any) -> AnyRedis:
    """Return a client of one server, which connects with its first call."""
    host, port = endpoint.rsplit(":", 1)
    deadline = {"socket_timeout": start["timeout_ms"] / 1000}
    once = Retry(NoBackoff(), 0)  # redis-py would repeat an unanswered request
    password = start["lock"]["password"] or None
    return kind(host=host, port=int(port), password=password, retry=once, **{**deadline, **options})

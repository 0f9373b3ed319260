"""The connection to a Redis server, with a deadline for every call and without retries."""

from __future__ import annotations

import time
from typing import Any

from protocol import Fields
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry


class TimedRedis(Redis):
    """Keeps what lock libraries hide: when each value was last sent with SET, and the errors of that.

    A granted lease counts from the moment when its SET was sent.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.sent: dict[Any, int] = {}  # CLOCK_MONOTONIC, ns
        self.errors: list[RedisError] = []

    def set(self, name: Any, value: Any, *words: Any, **options: Any) -> Any:
        """Send SET."""
        self.sent[value] = time.monotonic_ns()
        try:
            return super().set(name, value, *words, **options)
        except RedisError as error:
            self.errors.append(error)
            raise

    def forget(self) -> None:
        """Forget everything kept so far."""
        self.sent.clear()
        self.errors.clear()


def connect(endpoint: str, start: Fields, **options: Any) -> TimedRedis:
    """Return a client of one server, which connects with its first call."""
    host, port = endpoint.rsplit(":", 1)
    deadline = {"socket_timeout": start["timeout_ms"] / 1000}
    once = Retry(NoBackoff(), 0)  # redis-py would repeat an unanswered request
    password = start["lock"]["password"] or None
    return TimedRedis(host=host, port=int(port), password=password, retry=once, **{**deadline, **options})

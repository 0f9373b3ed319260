"""A write that got no answer is sent again, with an idempotency key in place of the token.

A strict fence accepts a token once. It would refuse the retry of a write that it has accepted, and the
caller would see an error for a write that took effect. An idempotency key solves that: the storage knows
the writes that it has accepted, and does not repeat one. But now nothing compares the retry's token, which
is right as long as the client that waits for an answer still holds the lock.

It takes two faults at once to find this: a holder that comes back late, while the storage does not answer.
Its first attempt is refused, too late for the client to notice, and its retry is accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workloads.client import NotApplied, Stale, Unknown
from workloads.redis_connection import RedisConnection
from workloads.settings import StorageSettings
from workloads.storages import redis

SOON = 0.4  # seconds; without an answer by then, the write is sent again
_WRITE = """
if redis.call('HEXISTS', KEYS[3], ARGV[2]) == 1 then return 'accepted' end
local mark = tonumber(redis.call('HGET', KEYS[1], 'mark'))
local token = tonumber(ARGV[1])
if ARGV[4] == 'compared' and token <= mark then return 'stale' end
redis.call('HSET', KEYS[3], ARGV[2], token)
redis.call('HSET', KEYS[1], 'mark', math.max(mark, token), 'token', token, 'value', ARGV[2])
redis.call('XADD', KEYS[2], '*', 'resource', ARGV[3], 'token', token, 'value', ARGV[2])
return 'accepted'
"""


class RetryWithoutTheToken:
    """A Redis script that is sent a second time if the first gets no answer.

    With the fencing "every-attempt", which is the twin's, it compares the token of the retry as well.
    """

    set_up = staticmethod(redis.set_up)
    committed = staticmethod(redis.committed)

    def __init__(self, settings: StorageSettings) -> None:
        self._first = redis.connection(replace(settings, timeout=SOON))
        self._second = redis.connection(settings)
        self._register = redis.RedisStorage(self._second, redis.NEVER)
        self._retry = "compared" if settings.fencing == "every-attempt" else "not compared"

    def write(self, resource: str, token: int, value: str, sent: Callable[[], None]) -> None:
        """Write with a token; without an answer, write again with the value as the idempotency key."""
        keys = (redis.key(resource), redis.log_key(), f"fencepost/{resource}/written")

        def send(connection: RedisConnection, token_is: str, sent: Callable[[], None] | None) -> Any:
            arguments = (token, value, resource, token_is)
            return connection.execute("EVAL", _WRITE, len(keys), *keys, *arguments, sent=sent)

        try:
            answer = send(self._first, "compared", sent)
        except (NotApplied, Unknown):
            answer = send(self._second, self._retry, None)
        if answer == "stale":
            raise Stale

    def reconnect(self) -> None:
        """Drop both connections: the next call opens new ones."""
        self._first.close()
        self._second.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._register, name)

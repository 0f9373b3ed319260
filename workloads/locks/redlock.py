"""Redlock: a client holds the lock once it has set its key on most of several independent Redis servers.

The value of a Redlock is random and has no order, so there is no fencing token. A target
chooses a substitute:

highest-counter  each server counts its grants; the token is the highest count of the servers
                 that granted. A server that refused does not count, so tokens can go back
wall-clock       the client's own clock, in ns
random           63 random bits

The servers are asked one after another, each with a short deadline. The lease is the TTL
less the drift that the algorithm allows for, counted from before the first request.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from workloads.client import Grant, NotApplied, Session, Unknown
from workloads.locks.polling import PATIENCE
from workloads.locks.redis import GRANT, MILLISECOND, RELEASE, RENEW, lock_key, remove, token_key
from workloads.locks.renewals import Renewals
from workloads.redis_connection import RedisConnection, connection
from workloads.settings import LockSettings

__all__ = ["DRAWN_AFTER_GRANT", "Redlock", "connect", "drift", "remove"]

SERVER_TIMEOUT = 0.1  # seconds; a server that does not answer must not use up the lease
RETRY = (0.02, 0.1)  # seconds; random for each retry, or tied clients would tie again

TOKENS: dict[str, Callable[[Sequence[int], random.Random], int]] = {
    "highest-counter": lambda counters, _rng: max(counters),
    "wall-clock": lambda _counters, _rng: time.time_ns(),
    "random": lambda _counters, rng: rng.getrandbits(63),
}


DRAWN_AFTER_GRANT = ("wall-clock", "random")
"""The tokens that the client makes once it has the lock."""


def drift(ttl: int) -> int:
    """Return how far the servers' clocks may drift apart during a lease of `ttl` ns."""
    return ttl // 100 + 2 * MILLISECOND


class Redlock:
    """One client of the lock; holds one lock at a time."""

    def __init__(
        self,
        servers: Sequence[RedisConnection],
        renewing: Sequence[RedisConnection],
        session: Session,
        settings: LockSettings,
    ) -> None:
        self._servers = servers
        self._renewing = renewing
        self._names = settings.names
        self._ttl = settings.ttl  # ns
        self._renewals = Renewals(session, self._ttl, lambda: _close(renewing), self.asks_for)
        self._token = TOKENS[settings.token]
        self._draws_token_later = settings.token in DRAWN_AFTER_GRANT
        self._rng = random.Random(settings.client)
        self._refusal = ""  # what a server said last that did not do what it was asked

    @property
    def _majority(self) -> int:
        return len(self._servers) // 2 + 1

    @property
    def asks_for(self) -> int:
        """The lease that a grant promises (ns)."""
        return self._ttl - drift(self._ttl)

    def acquire(self, resource: str, owner: str) -> Grant:
        """Try until most servers grant within the lease.

        NotApplied after three TTLs; Unknown if most servers may have granted, or may yet.
        """
        deadline = time.monotonic_ns() + PATIENCE * self._ttl
        self._refusal = ""
        doubtful: set[int] = set()
        while True:
            attempt = time.monotonic_ns()
            answers = self._ask(self._servers, *self._grant(resource, owner))
            counters = [answer for server, answer in enumerate(answers) if answer and server not in doubtful]
            if len(counters) >= self._majority and time.monotonic_ns() < attempt + self.asks_for:
                break
            doubtful |= self._delete_everywhere(answers, resource, owner)
            if len(doubtful) >= self._majority:
                raise Unknown(self._explained("too few answers"))
            if time.monotonic_ns() > deadline:
                raise NotApplied(self._explained("not free in time"))
            time.sleep(self._rng.uniform(*RETRY))
        self._renewals.begin(resource, owner)
        if self._draws_token_later:
            self._renewals.granted()
        self._renewals.keep(lambda: self._renew(resource, owner))
        return Grant(token=self._token(counters, self._rng), ttl=self.asks_for, attempt=attempt)

    def _explained(self, what: str) -> str:
        return f"{what}: {self._refusal}" if self._refusal else what

    def _delete_everywhere(self, granted: Sequence[int | None], resource: str, owner: str) -> set[int]:
        """Delete the key everywhere; return the servers where it may still exist or appear later.

        Servers with an unanswered deletion count too: it could delete the key of a later attempt.
        """
        deleted = self._ask(self._servers, *self._release(resource, owner))
        return {
            server
            for server, (grant, release) in enumerate(zip(granted, deleted, strict=True))
            if grant is None or release is None or (grant and not release)
        }

    def _renew(self, resource: str, owner: str) -> dict[str, Any]:
        self._require_majority(self._renewing, *self._extend(resource, owner))
        return {"ttl": self.asks_for}

    def release(self, resource: str, owner: str) -> None:
        """Delete the key where it is still ours; NotApplied if that is not most servers."""
        self._renewals.stop()
        self._require_majority(self._servers, *self._release(resource, owner))

    def revoke(self, resource: str, owner: str) -> None:
        """Delete the key wherever an acquire with unknown outcome has set it."""
        self._renewals.stop()
        if (
            self._ask(self._servers, *self._release(resource, owner), unreached=None).count(None)
            >= self._majority
        ):
            raise Unknown("too few answers")

    def _require_majority(self, servers: Sequence[RedisConnection], *command: str | int) -> None:
        """Run a command on most servers; NotApplied if most cannot have run it, Unknown if in doubt."""
        answers = self._ask(servers, *command)
        done = sum(bool(answer) for answer in answers)
        if done < self._majority:
            in_doubt = done + answers.count(None) >= self._majority
            raise Unknown("too few answers") if in_doubt else NotApplied("lease lost")

    def _ask(
        self, servers: Sequence[RedisConnection], *command: str | int, unreached: int | None = 0
    ) -> list[int | None]:
        """Ask each server: 0 if it did nothing, None without an answer, `unreached` if it was not reached."""
        answers: list[int | None] = []
        for server in servers:
            try:
                answers.append(server.execute(*command) or 0)
            except NotApplied as error:
                answers.append(unreached)
                self._refusal = str(error)
            except Unknown as error:
                answers.append(None)
                self._refusal = str(error)
        return answers

    def _grant(self, resource: str, owner: str) -> tuple[str | int, ...]:
        keys = (lock_key(resource, self._names), token_key(resource, self._names))
        return ("EVAL", GRANT, 2, *keys, owner, self._ttl // MILLISECOND)

    def _extend(self, resource: str, owner: str) -> tuple[str | int, ...]:
        return ("EVAL", RENEW, 1, lock_key(resource, self._names), owner, self._ttl // MILLISECOND)

    def _release(self, resource: str, owner: str) -> tuple[str | int, ...]:
        return ("EVAL", RELEASE, 1, lock_key(resource, self._names), owner)

    def reconnect(self) -> None:
        """Drop the connections: the next call opens new ones."""
        _close(self._servers)

    def close(self) -> None:
        """Stop the renewals, and drop all connections."""
        self._renewals.close(lambda: _close(self._renewing))
        _close(self._servers)


def _close(servers: Sequence[RedisConnection]) -> None:
    for server in servers:
        server.close()


def connect(settings: LockSettings, renewals: Session) -> Redlock:
    """Make a client with two connections to each server: one for the lock, one for its renewals."""
    hasty = replace(settings, timeout=min(settings.timeout, SERVER_TIMEOUT))
    servers, renewing = ([connection(hasty, endpoint) for endpoint in settings.endpoints] for _ in range(2))
    return Redlock(servers, renewing, renewals, settings)

"""A lock service with leases and a fenced storage, in memory, without a clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TIMEOUT = 1000  # ns, as all times here
TTL = 3000


@dataclass(kw_only=True)
class LockService:
    """Gives each resource to one owner at a time, for as long as it renews."""

    tokens: Callable[[], int]
    early: int = 0  # ns by which leases end too soon: a bug
    race: int = 0  # ns after a grant in which another request still finds the lock free: a bug
    stuck: bool = False  # a lease that is over keeps its lock: a bug
    again: str = "refused"  # an owner's acquire while it holds: or "same token", or "new token"
    sessions: bool = False  # an acquire of an owner that holds sets no lease
    owner: str | None = None
    granted: int = 0
    expires: int = 0
    token: int = 0

    def acquire(self, now: int, owner: str, ttl: int) -> int | None:
        if self._is_held(now):
            if self.owner != owner or self.again == "refused":
                return None
            if not self.sessions:
                self.expires = now + ttl
            if self.again == "new token":
                self.token = self.tokens()
            return self.token
        self.owner, self.expires, self.token = owner, now + ttl, self.tokens()
        self.granted = now
        return self.token

    def _is_held(self, now: int) -> bool:
        if self.owner is None or now - self.granted < self.race:
            return False
        return self.stuck or self.expires - self.early > now

    def renew(self, now: int, owner: str, ttl: int) -> bool:
        if self.owner != owner or self.expires <= now:
            return False
        self.expires = now + ttl
        return True

    def release(self, _now: int, owner: str) -> bool:
        held = self.owner == owner
        if held:
            self.owner = None
        return held


@dataclass(kw_only=True)
class PooledLock:
    """An advisory lock of sessions that clients share: a bug, since a session gets its own lock again."""

    tokens: Callable[[], int]
    session_of: Callable[[str, str], str]  # by the request and its owner
    session: str = ""
    taken: int = 0  # how often the session holds it

    def acquire(self, _now: int, owner: str, _ttl: int) -> int | None:
        session = self.session_of("acquire", owner)
        if self.taken and session != self.session:
            return None
        self.session = session
        self.taken += 1
        return self.tokens()

    def renew(self, _now: int, _owner: str, _ttl: int) -> bool:
        return True

    def release(self, _now: int, owner: str) -> bool:
        held = self.taken > 0 and self.session_of("release", owner) == self.session
        self.taken -= held
        return held


@dataclass(kw_only=True)
class Storage:
    """A register with a mark; with `policy` None it accepts every write."""

    policy: str | None
    value: Any = None
    token: int = 0  # the mark
    written: int = 0  # the token of the value
    log: list[tuple[Any, int]] = field(default_factory=list)

    def fence(self, _now: int, token: int) -> bool:
        if token < self.token:
            return False
        self.token = token
        return True

    def write(self, _now: int, value: Any, token: int) -> bool:
        if self.policy == "strict" and token <= self.token:
            return False
        if self.policy == "inclusive" and token < self.token:
            return False
        self.value, self.token, self.written = value, token, token
        self.log.append((value, token))
        return True

    def read(self, _now: int) -> tuple[Any, int]:
        return self.value, self.written

    def forget(self, count: int) -> None:
        """Continue as a replica that has not received the last writes."""
        del self.log[max(0, len(self.log) - count) :]
        self.value, self.token = self.log[-1] if self.log else (None, 0)
        self.written = self.token

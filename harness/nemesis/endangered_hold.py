"""A hold that a fault endangers, and what has become of it since."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self

from checkers.vocabulary.hazards import End
from harness.clients.shared_state import ACQUIRED, GRANTED, Held, SharedState
from harness.nemesis.windows import NO_TAKEOVER, NOT_EXPIRED, WENT_FURTHER

_ENDS = (*End,)


@dataclass(slots=True, kw_only=True)
class EndangeredHold:
    """The hold of a client at a stop point; ask for its end again and again.

    Its client may soon go on and have another hold, and a later holder may leave again: so the last
    known end of the lease, and that the lock was regranted, are kept.
    """

    held: Held
    state: SharedState
    ttl: int  # ns
    since: int = 0  # ns; when the fault was in force
    was_lost: bool = False  # by then already
    _lease_end: int = 0  # ns; 0: not known
    _regranted: bool = False

    @classmethod
    def of(cls, client: int, state: SharedState, ttl: int) -> Self:
        """Return the present hold of a client."""
        hold = cls(held=state.held(client), state=state, ttl=ttl)
        hold._keep_lease_end()
        return hold

    def begin(self, since: int) -> bool:
        """The fault is in force since then (ns); return whether its client holds the lock, or waits."""
        self.since = since
        self._keep_lease_end()
        ends = (self._lease_end, self.state.clients[self.held.client].released)
        is_over = any(0 < end < since for end in ends)
        self.was_lost = is_over or self.state.regranted(self.held, by=since)
        mine = self.state.clients[self.held.client]
        is_held = self.state.is_held(self.held) or mine.released >= since  # which it still held then
        return bool(mine.awaited) or (is_held and not self.was_lost)

    def end(self) -> End:
        """What has become of it by now."""
        self._keep_lease_end()
        if self.state.superseded(self.held):
            return End.SUPERSEDED
        self._regranted = self._regranted or self.state.regranted(self.held)
        if self._regranted:
            return End.REGRANTED
        return End.EXPIRED if self.lease_left < 0 else End.BEFORE_EXPIRY

    @property
    def lease_left(self) -> int:
        """For how long (ns) the lease is still good; one that is not known lasts a TTL from the fault on."""
        return (self._lease_end or self.since + self.ttl) - time.monotonic_ns()

    @property
    def is_lost(self) -> bool:
        """Was the lock granted to others, or is its lease over? As `checkers.facts.holds` defines it.

        Its release has not begun, as long as its client is at a stop point before that.
        """
        self._keep_lease_end()
        is_over = bool(self._lease_end) and self.lease_left < 0
        return is_over or self.state.regranted(self.held)

    @property
    def is_past_grant(self) -> bool:
        """Has its client done more than acquire the lock?"""
        phase = self.state.clients[self.held.client].phase
        return phase not in (GRANTED, ACQUIRED) or not self.state.is_held(self.held)

    def _keep_lease_end(self) -> None:
        mine = self.state.clients[self.held.client]
        known = max(mine.lease_end, mine.renewing and mine.renewing + self.ttl)
        if self.state.is_held(self.held):  # it still was when that was read
            self._lease_end = known


def has_come_to(end: End, aim: End) -> bool:
    """Has at least so much happened?"""
    return _ENDS.index(end) >= _ENDS.index(aim)


def why_missed(aim: End, end: End) -> str | None:
    """Return why a fault has missed the end that it aimed at, or None."""
    if end is aim:
        return None
    if has_come_to(end, aim):
        return WENT_FURTHER
    return NOT_EXPIRED if aim is End.EXPIRED else NO_TAKEOVER

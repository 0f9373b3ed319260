"""What keeps the faults of a run from testing more, with what to change."""

from __future__ import annotations

from dataclasses import dataclass

from checkers.text.durations import brief

SHORTEST_LEASE = 100_000_000  # ns; the shortest that Fencepost's own locks accept
_FAR = 10  # a lease that is shorter than the target's ttl by this factor is in another unit


@dataclass(frozen=True, slots=True)
class ShortLease:
    """Every lease was over before a fault that began could count; times are ns."""

    lease: int  # the longest that a grant promised
    ttl: int | None

    @property
    def remedy(self) -> str:
        """What to change."""
        if self.ttl is not None and self.lease * _FAR <= self.ttl:
            promised = f"grants promise a lease of {brief(self.lease)}, but lock.ttl is {brief(self.ttl)}"
            return f"{promised}: check its unit (ns in Grant.ttl, ms in ttl_ms of a program)"
        remedy = f"set lock.ttl to {brief(SHORTEST_LEASE)} or more"
        return f"the lease of {brief(self.lease)} is over before any fault begins: {remedy}"


@dataclass(frozen=True, slots=True)
class KeptLease:
    """No client got the lock of a paused one when its lease was over."""

    ttl: int  # ns

    @property
    def remedy(self) -> str:
        """What to change."""
        return (
            f"the lock service seems to keep leases for longer than lock.ttl, {brief(self.ttl)}: a paused"
            " client's lease was over, another client asked for the lock for a whole ttl, and none got it;"
            " check the unit in which the lease is set"
        )

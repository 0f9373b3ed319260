"""How much of a storage's own order of writes is read: the size of what the clients recorded decides.

A client records each call before its request leaves, and that takes more bytes than the entry of its
write. There may be more entries than calls: a client library retries, or a storage also returns the
writes of earlier runs. But the order must end.
"""

from __future__ import annotations

from checkers.text import limits
from workloads.client import Unknown

PER_RECORDED = 4  # bytes for each that the clients recorded


class CommitRoom:
    """The room (bytes) for one order of writes, and what is left of it."""

    def __init__(self, recorded: int) -> None:
        """`recorded` is the size (bytes) of what all clients recorded."""
        self.most = min(limits.EARLIER_COMMITS + PER_RECORDED * recorded, limits.COMMITS)
        self.why = f"the most for {limits.described(recorded)} that the clients recorded"
        self._taken = 0

    def take(self, size: int) -> None:
        """Make room for an entry; Unknown if there is none left."""
        self._taken += size
        if self._taken > self.most:
            raise Unknown(
                f"it has more than {limits.described(self.most)}, {self.why};"
                " make sure that nothing else writes there"
            )

"""Clients, servers and edges reserved by a fault, so that no other fault hits them too.

Two faults on one edge would each mistake the other's silence for their own proof, and its
healing for their own failure.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.clients.shared_state import SharedState
from harness.network.topology import Edge

Need = Edge | str  # an edge, a server by its name, or a whole side
NOTHING: AbstractSet[Need] = frozenset()


@dataclass(frozen=True, slots=True)
class Reservations:
    """Everything that faults have reserved."""

    state: SharedState
    lock: threading.RLock = field(
        default_factory=threading.RLock
    )  # held across several steps that must be atomic
    clients: set[int] = field(default_factory=set)
    taken: set[Need] = field(default_factory=set)

    def reserve(self, client: int | None, needs: AbstractSet[Need] = NOTHING) -> bool:
        """Reserve a client (None: none) and other needs, all or nothing; return whether they were free."""
        with self.lock:
            if client in self.clients or needs & self.taken:
                return False
            if client is not None:
                self.clients.add(client)
                self.state.clients[client].taken = 1
            self.taken.update(needs)
            return True

    def are_free(self, needs: AbstractSet[Need]) -> bool:
        """Has no fault reserved any of these?"""
        with self.lock:
            return not needs & self.taken

    @contextmanager
    def released_at_end(self, client: int | None, needs: AbstractSet[Need] = NOTHING) -> Iterator[None]:
        """Release the reservation at the end of the block."""
        try:
            yield
        finally:
            with self.lock:
                if client is not None:
                    self.clients.discard(client)
                    self.state.clients[client].taken = 0
                self.taken.difference_update(needs)

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
from harness.network.topology import NetworkEdge

Need = NetworkEdge | str  # an edge, a server by its name, or a whole side
Needs = AbstractSet[Need]
NOTHING: Needs = frozenset()


@dataclass(frozen=True, slots=True)
class Reservations:
    """Everything that faults have reserved."""

    state: SharedState
    lock: threading.RLock = field(default_factory=threading.RLock)  # held across several atomic steps
    clients: dict[int, str] = field(default_factory=dict)  # and the name of the fault that has each
    taken: dict[Need, str] = field(default_factory=dict)  # likewise

    def reserve(self, by: str, client: int | None, needs: Needs = NOTHING) -> bool:
        """Reserve a client (None: none) and other needs, all or nothing; return whether they were free."""
        with self.lock:
            if self.in_the_way(client, needs) is not None:
                return False
            if client is not None:
                self.clients[client] = by
                self.state.clients[client].taken = 1
            self.taken.update(dict.fromkeys(needs, by))
            return True

    def in_the_way(self, client: int | None, needs: Needs = NOTHING) -> str | None:
        """Return the name of a fault that has reserved any of these; None: they are free."""
        with self.lock:
            if client in self.clients:
                return self.clients[client]
            return next((by for need, by in self.taken.items() if need in needs), None)

    @contextmanager
    def released_at_end(self, client: int | None, needs: Needs = NOTHING) -> Iterator[None]:
        """Release the reservation at the end of the block."""
        try:
            yield
        finally:
            with self.lock:
                if client is not None:
                    self.clients.pop(client, None)
                    self.state.clients[client].taken = 0
                for need in needs:
                    self.taken.pop(need, None)

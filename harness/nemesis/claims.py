"""Whom and what a fault has in hand, so that no other takes it too.

Two faults on one edge would each take the other's silence for their own proof, and its healing
for their failure.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.network.topology import Edge
from harness.shared_state import SharedState

NO_EDGES: AbstractSet[Edge] = frozenset()


@dataclass(frozen=True, slots=True)
class Claims:
    """The clients and edges that faults have claimed."""

    state: SharedState
    lock: threading.RLock = field(default_factory=threading.RLock)  # held while several things must fit
    clients: set[int] = field(default_factory=set)
    edges: set[Edge] = field(default_factory=set)

    def take(self, client: int | None, edges: AbstractSet[Edge] = NO_EDGES) -> bool:
        """Take a client (None: none) and edges, all or nothing; False if another fault has one of them."""
        with self.lock:
            if client in self.clients or edges & self.edges:
                return False
            if client is not None:
                self.clients.add(client)
                self.state.clients[client].taken = 1
            self.edges.update(edges)
            return True

    @contextmanager
    def released_in_the_end(self, client: int | None, edges: AbstractSet[Edge] = NO_EDGES) -> Iterator[None]:
        """Let others have what was taken once the block is left."""
        try:
            yield
        finally:
            with self.lock:
                if client is not None:
                    self.clients.discard(client)
                    self.state.clients[client].taken = 0
                self.edges.difference_update(edges)

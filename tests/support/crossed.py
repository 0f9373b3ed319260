"""A cluster whose edges are mixed up: a fault that is observed on the wrong edge must be noticed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.engines.engine import Cluster
from harness.network.topology import Address


@dataclass(frozen=True)
class Crossed:
    """A cluster that gives client 0 the edges of client 1, and the other way round."""

    cluster: Cluster

    @property
    def servers(self) -> Any:
        return self.cluster.servers

    @property
    def toxiproxy(self) -> Any:
        return self.cluster.toxiproxy

    def edge(self, client: int, server: str) -> Address:
        return self.cluster.edge(1 - client, server)

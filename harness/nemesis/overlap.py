"""Sides of a target that a fault reserves, so that no other fault is in force there at the same time.

With `overlap = false` in the target, every fault reserves the sides that it hits: the clients, the lock
service, the storage. A client that is cut off from servers is on both sides of the cut.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from harness.nemesis.faults import ClientFault, ServerFault, hits_client
from harness.nemesis.partition import PartitionSpec
from harness.nemesis.reach import ServersOfSides, servers_hit
from harness.nemesis.reservations import Need

CLIENTS = "side:clients"  # no name of a server has a colon


def sides_hit(fault: ClientFault | ServerFault, sides: ServersOfSides) -> AbstractSet[Need]:
    """Return the sides that a fault hits."""
    servers = servers_hit(fault.aim(), sides)
    hit = {f"side:{side}" for side, names in sides.items() if set(names) & set(servers)}
    cuts_off_client = isinstance(fault, PartitionSpec) and fault.along is not None
    return hit | ({CLIENTS} if hits_client(fault) or cuts_off_client else set())

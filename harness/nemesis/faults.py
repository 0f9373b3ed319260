"""The registry of faults: one file each, and one line here.

A fault's file has its section of a target file, its contradictions, what it reserves and needs
from an engine, its injection, and the proofs that it is in force and that it is healed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeGuard, get_args

from pydantic import Field

from harness.nemesis import contradictions
from harness.nemesis.clock import ClockSpec
from harness.nemesis.contradictions import NamedFault
from harness.nemesis.delay import DelaySpec
from harness.nemesis.failover import FailoverSpec
from harness.nemesis.kill import KillSpec
from harness.nemesis.partition import PartitionSpec
from harness.nemesis.pause import PauseSpec
from harness.nemesis.reach import ServersOfSides, servers_hit
from harness.nemesis.reservations import Needs
from harness.nemesis.script import ScriptSpec
from harness.nemesis.slow import SlowSpec
from harness.nemesis.stop import StopSpec
from harness.nemesis.throttle import ThrottleSpec

ClientFault = PauseSpec | PartitionSpec | DelaySpec | SlowSpec | KillSpec | StopSpec | ThrottleSpec
"""Faults on a client: `needs(reach, client)` and `in_force_on(reach, client, go_on)`."""

ServerFault = (
    PauseSpec | PartitionSpec | DelaySpec | KillSpec | FailoverSpec | ClockSpec | ThrottleSpec | ScriptSpec
)
"""Faults on servers: `needs(reach)` and `in_force(reach, wait)`."""

FaultSpec = Annotated[ClientFault | ServerFault, Field(discriminator="kind")]
"""A section [[faults]] of a target file; its target decides which it hits."""

FAULTS: Mapping[str, type[ClientFault | ServerFault]] = {
    get_args(spec.model_fields["kind"].annotation)[0]: spec
    for spec in (*get_args(ClientFault), *get_args(ServerFault))
}
"""All faults, by kind."""


def name_of(fault: NamedFault) -> str:
    """Return what a fault is called in windows, such as "pause holder before-write"."""
    return " ".join(filter(None, (fault.kind, fault.target, fault.at)))


def hits_client(fault: ClientFault | ServerFault) -> TypeGuard[ClientFault]:
    """Does it hit a client?"""
    return not hits_servers(fault)


def begins_at_stop_point(fault: ClientFault | ServerFault) -> TypeGuard[ClientFault]:
    """Does it begin when a client reaches a stop point?"""
    return fault.at is not None


def begins_at_each_stop(fault: ClientFault | ServerFault) -> bool:
    """Does it begin at a stop point again and again, not once from each drawn moment on?"""
    return fault.at is not None and fault.every is None


def aims_at_hazards(fault: ClientFault | ServerFault) -> TypeGuard[PauseSpec]:
    """Does it aim at several dangerous moments?"""
    return isinstance(fault, PauseSpec) and fault.hazards is not None


def hits_servers(fault: ClientFault | ServerFault) -> TypeGuard[ServerFault]:
    """Does it hit servers?"""
    return contradictions.hits_servers(fault)


CLIENTS = "side:clients"  # no name of a server has a colon


def sides_hit(fault: ClientFault | ServerFault, sides: ServersOfSides) -> Needs:
    """Return the sides that a fault hits, which it reserves with `overlap = false` in the target.

    A client that is cut off from servers is on both sides of the cut.
    """
    servers = servers_hit(fault.aim(), sides)
    hit = {f"side:{side}" for side, names in sides.items() if set(names) & set(servers)}
    cuts_off_client = isinstance(fault, PartitionSpec) and fault.along is not None
    return hit | ({CLIENTS} if hits_client(fault) or cuts_off_client else set())

"""The registry of faults: one file each, and one line here.

A fault's file has its section of a target file, its contradictions, what it reserves and needs
from an engine, its injection, and the proofs that it is in force and that it is healed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol, TypeGuard, get_args

from pydantic import Field

from harness.nemesis.clock import ClockSpec
from harness.nemesis.delay import DelaySpec
from harness.nemesis.failover import FailoverSpec
from harness.nemesis.kill import KillSpec
from harness.nemesis.partition import PartitionSpec
from harness.nemesis.pause import PauseSpec
from harness.nemesis.script import ScriptSpec
from harness.nemesis.slow import SlowSpec
from harness.nemesis.throttle import ThrottleSpec

ClientFault = PauseSpec | PartitionSpec | DelaySpec | SlowSpec | KillSpec | ThrottleSpec
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


class Named(Protocol):
    """A fault, with what it is called by."""

    @property
    def kind(self) -> str:
        """Such as pause."""

    @property
    def target(self) -> str:
        """What it hits."""

    @property
    def at(self) -> str | None:
        """The stop point."""


def name_of(fault: Named) -> str:
    """Return what a fault is called in windows, such as "pause holder before-write"."""
    return " ".join(filter(None, (fault.kind, fault.target, fault.at)))


def hits_client(fault: ClientFault | ServerFault) -> TypeGuard[ClientFault]:
    """Does it hit a client?"""
    return not fault.hits_servers


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
    return fault.hits_servers

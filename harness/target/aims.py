"""Which servers a fault hits: all of one side of a target, of both, or some by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from harness.target.faults import FaultSpec, PartitionSpec, PauseSpec
from harness.target.models import Target

SideOfTarget = Literal["lock", "storage"]
ServersOfSides = Mapping[SideOfTarget, tuple[str, ...]]


def sides_of(target: Target) -> ServersOfSides:
    """The names of the servers that a target starts."""
    return {"lock": target.lock.servers, "storage": target.storage.servers}


def aim(fault: FaultSpec) -> tuple[str, ...]:
    """The words of the target file: sides, or servers; none for a fault that hits a process."""
    match fault:
        case PauseSpec():
            return ()
        case PartitionSpec(side="both"):
            return ("lock", "storage")
        case PartitionSpec():
            return (fault.side,) if isinstance(fault.side, str) else fault.side
        case _:
            return (fault.target,)


def servers_hit(fault: FaultSpec, sides: ServersOfSides) -> tuple[str, ...]:
    """The names of the servers, each once; those that no side has are left out."""
    named = aim(fault)
    return tuple(
        dict.fromkeys(
            name for side, names in sides.items() for name in names if side in named or name in named
        )
    )


def recorded_target(fault: FaultSpec, sides: ServersOfSides) -> str:
    """What a fault on servers is said to have hit: "lock", "storage", or such as "lock:redis-1"."""
    (named,) = aim(fault)
    of = [side for side, names in sides.items() if named in names]
    return f"{of[0]}:{named}" if of else named

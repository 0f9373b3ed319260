"""Words for faults: what was hit, and what happened to it."""

from __future__ import annotations

from checkers.history.faults import Fault

_PARTS = {"lock": "the lock service", "storage": "the storage"}
_AT_ONCE = {"kill": "was killed", "restart": "was restarted", "failover": "failed over"}


def part_of_run(target: str) -> str:
    """What a fault's target is called: a service, or a member of it."""
    part, _, member = target.partition(":")
    name = _PARTS.get(part, part)
    return f"{name} ({member})" if member else name


def named(target: str) -> str:
    """A fault's target as a reader would call it: "client 3", "the storage", "the lock service (redis-1)"."""
    part, _, member = target.partition(":")
    return f"client {member}" if part == "client" and member else part_of_run(target)


def restarted(fault: Fault) -> str:
    """What a restart did, of whatever kind it was."""
    return f"{part_of_run(fault.target)} {_AT_ONCE[fault.kind]}"


def clients_left(fault: Fault) -> str:
    """Which clients still reached the old primary after a failover; empty if none did."""
    if not fault.left_behind:
        return ""
    clients = " and ".join(map(str, fault.left_behind))
    one = len(fault.left_behind) == 1
    return (
        f"; {'client' if one else 'clients'} {clients} still reached the old primary, all others the new one"
    )

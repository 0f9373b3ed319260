"""Words for faults: what was hit, and what happened to it."""

from __future__ import annotations

from checkers.history.faults import Fault

_PARTS = {"lock": "the lock service", "storage": "the storage"}
_LASTING = {
    "pause": "was paused",
    "partition": "was cut off",
    "kill": "was down",
    "restart": "was down",
    "clock": "had its clock set ahead",
    "failover": "failed over",
}
_NOW = {
    "pause": "is paused",
    "partition": "is cut off",
    "kill": "is down",
    "restart": "is down",
    "clock": "has its clock set ahead",
    "failover": "is failing over",
}
_AFTERWARDS = {
    "pause": "runs again",
    "partition": "is connected again",
    "kill": "is up again",
    "restart": "is up again",
    "clock": "has the right time again",
    "failover": "has failed over",
}
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


def begins(kind: str) -> str:
    """What is so of its target while a fault of this kind is in force."""
    return _NOW.get(kind, f"is hit by {kind}")


def ends(kind: str) -> str:
    """What is so of its target once a fault of this kind has healed."""
    return _AFTERWARDS.get(kind, f"is no longer hit by {kind}")


def was_hit(kind: str, target: str) -> str:
    """What was so for as long as a fault of this kind was in force."""
    happened = _LASTING.get(kind)
    return f"{kind} of {target} was in force" if happened is None else f"{target} {happened}"


def restarted(fault: Fault) -> str:
    """What a restart did, of whatever kind it was."""
    return f"{part_of_run(fault.target)} {_AT_ONCE[fault.kind]}"

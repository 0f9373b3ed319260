"""Replay of a plan: the faults of another run, at the same moments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from checkers.history.files import read_bytes
from checkers.text import limits
from harness.core.errors import ConfigurationError
from harness.nemesis.plan import PlannedFault
from harness.spec import Target
from harness.spec.hazards import plan_of
from harness.spec.reading import of_seed


@dataclass(frozen=True, slots=True)
class ReplayedPlan:
    """What plan.json says before a run: from `seed` come the victims and the workload."""

    seed: int
    planned: tuple[PlannedFault, ...]


def read_plan(path: Path, target: Target) -> ReplayedPlan:
    """Read a plan.json to repeat; ConfigurationError if it is none, or does not fit the target's faults."""
    try:
        read = msgspec.json.decode(read_bytes(path, limits.DOCUMENT), type=ReplayedPlan)
    except msgspec.DecodeError as error:
        raise ConfigurationError(f"{path} is not a plan.json: {error}") from None
    target = of_seed(target, read.seed)
    duration = target.workload.duration
    own = plan_of(target, target.faults, read.seed)
    if [*map(_aim, read.planned)] != [*map(_aim, own)]:
        raise ConfigurationError(
            f"{path} is not a plan for {target.name}: it has {_listed(read.planned)}, but the target has "
            f"{_listed(own)}; give the target of the same run, its target.toml"
        )
    if any(not 0 <= moment < duration for each in read.planned for moment in each.moments):
        raise ConfigurationError(
            f"{path} is not a plan for {target.name}: it has moments before its start or after its end"
        )
    return read


def _aim(fault: PlannedFault) -> tuple[str, str, str | None, list[str]]:
    return fault.kind, fault.target, fault.at, sorted(fault.hazards)


def _listed(faults: tuple[PlannedFault, ...]) -> str:
    words = (
        (each.kind, each.target, each.at, f"at {len(each.hazards)} hazards" if each.hazards else None)
        for each in faults
    )
    return ", ".join(" ".join(filter(None, each)) for each in words) or "no faults"

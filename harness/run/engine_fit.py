"""Can the engines of this machine run a target?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from harness.core.errors import ConfigurationError, FencepostError
from harness.engines.engine import Engine
from harness.engines.joined import with_attached
from harness.engines.local import LocalEngine
from harness.run import deployment
from harness.spec import Target


@dataclass(frozen=True, slots=True)
class EngineFit:
    """Why each engine cannot run a target; None if it can."""

    local: str | None
    docker: str | None

    @property
    def nowhere(self) -> str | None:
        """Why no engine of this machine can run it."""
        if self.local is None or self.docker is None:
            return None
        docker, _, _ = self.docker.partition(";")  # what comes after it recommends the local engine
        return f"no engine of this machine can run it: {self.local}; here {docker}"

    @property
    def on_docker_only(self) -> bool:
        """Can Docker run it, and the local engine not?"""
        return self.local is not None and self.docker is None


def engine_fit(target: Target) -> EngineFit:
    """Ask both engines, as `run` asks the one that it uses. Docker is not asked if the local one can."""
    refusal = LocalEngine().refusal(deployment.topology(target, target.faults))
    why_not = str(refusal) if refusal else None
    return EngineFit(local=why_not, docker=_why_not_docker() if why_not else None)


def refusal(target: Target, engine: Engine) -> FencepostError | None:
    """Return the error that a run of a target on this engine would begin with; nothing is run or asked."""
    for wrong in deployment.missing_programs(target):
        return ConfigurationError(wrong)
    topology = deployment.topology(target, target.faults)
    return with_attached(engine, topology).refusal(topology)


@cache
def _why_not_docker() -> str | None:
    from harness.engines.docker import unavailability  # slow to import

    return unavailability()

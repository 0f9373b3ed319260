"""Can the engines of this machine run a target?"""

from __future__ import annotations

from functools import cache

from harness.core.errors import ConfigurationError, FencepostError
from harness.engines.engine import Engine
from harness.engines.joined import with_attached
from harness.engines.local import LocalEngine
from harness.run import deployment
from harness.spec import Target


def engine_fit(target: Target) -> tuple[str | None, bool]:
    """Return why no engine of this machine can run a target, None if one can; and if only Docker can.

    Both are asked as `run` asks the one that it uses; Docker is not if the local one can.
    """
    why_not_local = LocalEngine().refusal(deployment.topology(target, target.faults))
    if why_not_local is None:
        return None, False
    if (why_not_docker := _why_not_docker()) is None:
        return None, True
    docker, _, _ = why_not_docker.partition(";")  # what comes after it recommends the local engine
    return f"no engine of this machine can run it: {why_not_local}; here {docker}", False


def refusal(target: Target, engine: Engine) -> FencepostError | None:
    """Return the error that a run of a target on this engine would begin with; nothing is run or asked."""
    for wrong in deployment.missing_here(target):
        return ConfigurationError(wrong)
    topology = deployment.topology(target, target.faults)
    return with_attached(engine, topology).refusal(topology)


@cache
def _why_not_docker() -> str | None:
    from harness.engines.docker import unavailability  # slow to import

    return unavailability()

"""Which engine runs a target: Docker where it answers, else the local one."""

from __future__ import annotations

from typing import Literal

from harness.engines import Engine
from harness.engines.local import LocalEngine
from harness.errors import EngineUnavailableError

EngineName = Literal["auto", "docker", "local"]


def choose(name: EngineName) -> Engine:
    """Return the engine of that name; EngineUnavailableError where it is Docker, and none answers."""
    if name == "local":
        return LocalEngine()
    from harness.engines.docker import DockerEngine, unavailability

    why_not = unavailability()
    if why_not is None:
        return DockerEngine()
    if name == "docker":
        raise EngineUnavailableError(why_not)
    return LocalEngine()

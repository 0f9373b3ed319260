"""Which engine runs a target: Docker where it answers, else the local one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from harness.core.errors import EngineUnavailableError
from harness.engines.engine import Engine
from harness.engines.local import LocalEngine

EngineName = Literal["auto", "docker", "local"]


def choose(name: EngineName, notify: Callable[[str], None] = lambda _sentence: None) -> Engine:
    """Return the engine of that name; EngineUnavailableError where it is Docker, and none answers.

    `notify` hears that "auto" is the local one although Docker is meant to be here.
    """
    if name == "local":
        return LocalEngine()
    from harness.engines.docker import DockerEngine, unavailability
    from harness.engines.docker_api import answers, expected_at

    why_not = unavailability()
    if why_not is None:
        return DockerEngine()
    if name == "docker":
        raise EngineUnavailableError(why_not)
    if host := expected_at():
        what = "cannot be used" if answers() else "does not answer"
        notify(f"Docker {what} at {host}: using the local engine (`fencepost doctor` says why)")
    return LocalEngine()

"""The choice of the engine: Docker if it answers, otherwise the local one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from harness.core.errors import EngineUnavailableError
from harness.engines.engine import Engine
from harness.engines.local import LocalEngine

EngineName = Literal["auto", "docker", "local"]


def choose(name: EngineName, notify: Callable[[str], None] = lambda _sentence: None) -> Engine:
    """Return the engine of that name; EngineUnavailableError if it is Docker, but none answers.

    `notify` gets a message if "auto" is the local engine although Docker is set up.
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
    return LocalEngine(replaces_docker=True)

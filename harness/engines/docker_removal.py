"""Removal of what runs started on Docker, found by its labels."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import docker
from docker.errors import APIError, NotFound

from harness.core.errors import InfrastructureError
from harness.engines.docker_api import as_infrastructure_errors, connect
from harness.processes import ownership
from harness.processes.ownership import Life

TIMEOUT = 30.0  # s
POLL = 0.05  # s
CONFLICT = 409  # another process is removing it
IN_USE = 403  # a network whose last container is being removed
WHY_KEPT = {
    Life.ALIVE: "it is in progress",
    Life.ELSEWHERE: "it was started by hand, on another host or in a container",
}


@dataclass(frozen=True, slots=True)
class DockerObject:
    """A container, a volume or a network."""

    kind: str
    name: str
    marks: dict[str, str]
    remove: Callable[[], None]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def remove_run(run_id: str) -> list[str]:
    """Remove everything of one run, and return what was removed; InfrastructureError if anything stays."""
    with as_infrastructure_errors(), closing(connect()) as client:
        return remove_all(client, run_id)


def remove_all(client: docker.DockerClient, run_id: str) -> list[str]:
    """Remove everything of one run, over an existing connection."""
    removed: dict[str, None] = {}
    deadline = time.monotonic() + TIMEOUT
    while things := _things(client, f"{ownership.RUN}={run_id}"):
        if time.monotonic() > deadline:
            raise InfrastructureError(f"Docker did not remove {', '.join(map(str, things))}")
        if removed:
            time.sleep(POLL)  # the rest is being removed, or waits for that
        for is_first in (True, False):  # the others are in use by containers
            batch = [thing for thing in things if (thing.kind == "container") is is_first]
            with ThreadPoolExecutor(max_workers=max(len(batch), 1)) as pool:
                list(pool.map(_remove_one, batch))
        removed |= dict.fromkeys(map(str, things))
    return list(removed)


def remove_ownerless() -> tuple[list[str], list[str]]:
    """Remove everything of ours whose harness is dead; return what was removed, and what was kept and why."""
    with as_infrastructure_errors(), closing(connect()) as client:
        things = _things(client, ownership.RUN)
        lives = {_run(thing): ownership.life_of(thing.marks) for thing in things}
        removed = [
            line for run, life in lives.items() if life is Life.DEAD for line in remove_all(client, run)
        ]
        kept = [
            f"run {run}, {_counted([thing for thing in things if _run(thing) == run])}: {WHY_KEPT[life]}"
            for run, life in lives.items()
            if life is not Life.DEAD
        ]
    return removed, kept


def _counted(things: Sequence[DockerObject]) -> str:
    numbers = Counter(thing.kind for thing in things)
    return ", ".join(f"{number} {kind}{'' if number == 1 else 's'}" for kind, number in numbers.items())


def _run(thing: DockerObject) -> str:
    return thing.marks[ownership.RUN]


def _remove_one(thing: DockerObject) -> None:
    try:
        thing.remove()
    except NotFound:
        pass
    except APIError as error:
        if error.status_code not in (CONFLICT, IN_USE):
            raise


def _remove_container(api: Any, container: str, *, is_frozen: bool) -> None:
    """Kill and remove a container, and its anonymous volumes."""
    if is_frozen:  # Docker's kill of a frozen container may hang for ever
        with suppress(APIError):  # it has ended meanwhile
            api.unpause(container)
    api.remove_container(container, v=True, force=True)


def container_name(container: Mapping[str, Any]) -> str:
    """Return a listed container's name, or its short id: Docker removes the name first."""
    names: list[str] = container["Names"] or [container["Id"][:12]]
    return names[0].lstrip("/")


def _things(client: docker.DockerClient, label: str) -> list[DockerObject]:
    api: Any = client.api
    filters = {"label": label}
    containers = [
        DockerObject(
            "container",
            container_name(each),
            each["Labels"],
            partial(_remove_container, api, each["Id"], is_frozen=each["State"] == "paused"),
        )
        for each in api.containers(all=True, filters=filters)
    ]
    volumes = [
        DockerObject(
            "volume", each["Name"], each["Labels"], partial(api.remove_volume, each["Name"], force=True)
        )
        for each in api.volumes(filters=filters)["Volumes"] or []
    ]
    networks = [
        DockerObject("network", each["Name"], each["Labels"], partial(api.remove_network, each["Id"]))
        for each in api.networks(filters=filters)
    ]
    return containers + volumes + networks

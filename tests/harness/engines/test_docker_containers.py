"""Containers: which of Docker's states end a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import requests

from harness.core.errors import ServerNotReadyError
from harness.engines.docker_containers import Container


def written(_id: str, **_of: Any) -> bytes:
    return b"out of memory"


def stuck(_id: str, **_of: Any) -> NoReturn:
    raise requests.ReadTimeout("Read timed out. (read timeout=60)")


def container(state: dict[str, Any], checks: dict[str, Any], logs: Any = written) -> Container:
    """A container that Docker shows so."""
    api = SimpleNamespace(
        inspect_container=lambda _id: {"State": state, "Config": {"Healthcheck": checks}}, logs=logs
    )
    client: Any = SimpleNamespace(api=api)
    return Container("etcd-1", "1234", (), client)


def unhealthy(failed: int) -> dict[str, Any]:
    return {"Running": True, "Health": {"Status": "unhealthy", "FailingStreak": failed}}


@pytest.mark.parametrize(("failed", "checks"), [(0, {"Retries": 6}), (5, {"Retries": 6}), (2, {})])
def test_a_container_that_was_paused_is_not_unhealthy_yet(failed: int, checks: dict[str, Any]) -> None:
    """Docker says so until a check succeeds, and the first ones may fail while no member leads."""
    container(unhealthy(failed), checks).check()


@pytest.mark.parametrize(
    ("state", "checks", "said"),
    [
        (unhealthy(6), {"Retries": 6}, "is unhealthy"),
        (unhealthy(3), {}, "is unhealthy"),
        ({"Running": False, "ExitCode": 137}, {}, "ended with status 137"),
    ],
)
def test_an_unhealthy_container_ends_the_run_with_its_log(
    state: dict[str, Any], checks: dict[str, Any], said: str
) -> None:
    with pytest.raises(
        ServerNotReadyError, match=f"^etcd-1 {said}; its last log lines:\n  \\| out of memory$"
    ):
        container(state, checks).check()


def test_a_log_that_docker_does_not_give_says_why() -> None:
    stopped = container({"Running": False, "ExitCode": 137}, {}, stuck)

    with pytest.raises(
        ServerNotReadyError, match=r"status 137; .*\n  \| .this log could not be read: Docker: Read timed"
    ):
        stopped.check()

"""Containers: which of Docker's states end a run."""

from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import requests

from harness.core.errors import InfrastructureError, ServerNotReadyError
from harness.engines import docker_containers
from harness.engines.docker_containers import Container


def written(_id: str, **_of: Any) -> bytes:
    return b"out of memory"


def stuck(_id: str, **_of: Any) -> NoReturn:
    raise requests.ReadTimeout("Read timed out. (read timeout=60)")


@pytest.fixture(autouse=True)
def no_reason_comes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_containers, "REASON_TIMEOUT", 0.0)


def container(
    state: dict[str, Any], checks: dict[str, Any], logs: Any = written, name: str = "etcd-1"
) -> Container:
    """A container that Docker shows so."""
    seen = {
        "State": {"OOMKilled": False} | state,
        "Config": {"Healthcheck": checks},
        "HostConfig": {"Memory": 150_000_000},
    }
    client: Any = SimpleNamespace(api=SimpleNamespace(inspect_container=lambda _id: seen, logs=logs))
    return Container(name, "1234", (), client)


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
        ({"Running": False, "ExitCode": 1}, {}, "ended with status 1"),
    ],
)
def test_an_unhealthy_container_ends_a_run(state: dict[str, Any], checks: dict[str, Any], said: str) -> None:
    with pytest.raises(
        ServerNotReadyError, match=f"^etcd-1 {said}; its last log lines:\n  \\| out of memory$"
    ):
        container(state, checks).check()


def test_a_container_that_was_killed_names_its_limit_as_the_likely_reason() -> None:
    """The kernel's report may reach Docker long after the end, or never."""
    with pytest.raises(ServerNotReadyError) as raised:
        container({"Running": False, "ExitCode": 137}, {}).check()

    assert str(raised.value).splitlines()[0] == (
        "etcd-1 was killed (status 137). Docker does not say by whom: perhaps by you, or by the kernel"
        ' because it used more than its memory limit of 150MB (raise it with memory = "…" in its section of'
        " the target);"
        " its last log lines:"
    )


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize(
    ("name", "remedy"),
    [("etcd-1", ' (raise it with memory = "…" in its section of the target)'), ("toxiproxy", "")],
)
def test_a_container_with_too_little_memory_names_its_limit(name: str, remedy: str, *, running: bool) -> None:
    state = {"Running": running, "OOMKilled": True, "ExitCode": 137}

    with pytest.raises(ServerNotReadyError) as raised:
        container(state, {}, name=name).check()

    assert str(raised.value).splitlines()[0] == (
        f"{name} was killed by the kernel because it used more than its memory limit of 150MB{remedy}; "
        "its last log lines:"
    )


def test_a_log_that_docker_does_not_give_says_why() -> None:
    stopped = container({"Running": False, "ExitCode": 137}, {}, stuck)

    with pytest.raises(
        ServerNotReadyError, match=r"status 137\)\. .*\n  \| .this log could not be read: Docker: Read timed"
    ):
        stopped.check()


def shown_as(*statuses: str) -> Container:
    """A container that Docker shows so, one after the other, whatever it is asked to do."""
    each = iter(statuses)

    def inspected(_id: str) -> dict[str, Any]:
        return {"State": {"OOMKilled": False, "Running": True, "Status": next(each)}, "Config": {}}

    api = SimpleNamespace(inspect_container=inspected, pause=lambda _id: None, unpause=lambda _id: None)
    client: Any = SimpleNamespace(api=api)
    return Container("etcd-1", "1234", (), client)


def test_docker_may_show_the_former_status_for_a_moment() -> None:
    shown_as("paused", "paused", "running").thaw()
    shown_as("running", "paused").freeze()


def test_a_container_that_stays_as_it_was_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_containers, "SETTLING", -1.0)

    with pytest.raises(InfrastructureError, match="etcd-1 should be running, but is paused"):
        shown_as("paused", "paused", "paused").thaw()

"""What every container may do and use: no capabilities, no new privileges, a limit of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

COMPOSE = sorted((Path(__file__).parents[3] / "compose").glob("*.yaml"))
BECOMES_ANOTHER_USER = {"postgres", "redis", "zookeeper"}
"""The official images of these start as root."""
HARMLESS = {"CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETPCAP", "SETUID"}

SERVICES = [
    pytest.param(file.stem, service, id=f"{file.stem}: {name}")
    for file in COMPOSE
    for name, service in yaml.safe_load(file.read_text(encoding="utf-8"))["services"].items()
]


def test_every_compose_file_has_services() -> None:
    assert len(COMPOSE) >= 10
    assert len(SERVICES) >= len(COMPOSE)


@pytest.mark.parametrize(("system", "service"), SERVICES)
def test_a_service_gets_only_the_capabilities_that_it_needs(system: str, service: dict[str, Any]) -> None:
    added = set(service.get("cap_add", ()))

    assert service["cap_drop"] == ["ALL"]
    assert added <= (HARMLESS if system in BECOMES_ANOTHER_USER else set())
    assert "no-new-privileges:true" in service["security_opt"]
    assert not service.get("privileged")


@pytest.mark.parametrize(("system", "service"), SERVICES)
def test_a_service_has_a_limit_of_memory_that_swap_does_not_lift(
    system: str, service: dict[str, Any]
) -> None:
    assert system
    assert 0 < service["mem_limit"] <= 2 * 10**9
    assert service["memswap_limit"] == service["mem_limit"]


@pytest.mark.parametrize(("system", "service"), SERVICES)
def test_a_service_shares_nothing_with_the_machine(system: str, service: dict[str, Any]) -> None:
    assert system
    assert not {"devices", "ipc", "network_mode", "pid", "userns_mode", "volumes_from"} & set(service)
    assert not [each for each in service.get("volumes", ()) if str(each).startswith((".", "/", "~"))]

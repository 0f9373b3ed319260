"""The choice of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import EngineUnavailableError
from harness.engines import docker_api
from harness.engines.choice import choose
from harness.engines.engine import Engine


@pytest.fixture
def _no_docker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///tmp/nothing-here.sock")


def test_auto_is_docker_if_it_answers(docker_engine: Engine) -> None:
    assert choose("auto") == docker_engine
    assert choose("docker") == docker_engine


@pytest.mark.usefixtures("_no_docker")
def test_auto_is_local_if_docker_does_not_answer() -> None:
    assert choose("auto").name == "local"


@pytest.mark.parametrize("address", ["tcp://192.0.2.1:2375", "unix:///tmp/nothing-here.sock"])
def test_auto_says_so_if_docker_is_set_up_but_silent(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    said: list[Any] = []
    monkeypatch.setenv("DOCKER_HOST", address)

    choose("auto", said.append)

    (line,) = said
    assert line.startswith(f"Docker does not answer at {address}: using the local engine")


def test_auto_is_silent_if_docker_is_not_set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said: list[str] = []
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(docker_api, "engine_host", lambda: f"unix://{tmp_path}/nothing-here.sock")

    assert choose("auto", said.append).name == "local"
    assert said == []


@pytest.mark.usefixtures("_no_docker")
def test_docker_on_request_is_never_replaced() -> None:
    with pytest.raises(EngineUnavailableError, match="no Docker engine answers"):
        choose("docker")


def test_local_on_request_is_local() -> None:
    assert choose("local").name == "local"

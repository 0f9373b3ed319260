"""Which engine is chosen."""

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


def test_docker_where_it_answers(docker_engine: Engine) -> None:
    assert choose("auto") == docker_engine
    assert choose("docker") == docker_engine


@pytest.mark.usefixtures("_no_docker")
def test_the_local_one_where_no_docker_answers() -> None:
    assert choose("auto").name == "local"


@pytest.mark.parametrize("address", ["tcp://192.0.2.1:2375", "unix:///tmp/nothing-here.sock"])
def test_one_line_says_that_docker_does_not_answer_where_it_is_meant_to(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    said: list[Any] = []
    monkeypatch.setenv("DOCKER_HOST", address)

    choose("auto", said.append)

    (line,) = said
    assert line.startswith(f"Docker does not answer at {address}: using the local engine")


def test_nothing_is_said_where_nobody_has_set_docker_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said: list[str] = []
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(docker_api, "engine_host", lambda: f"unix://{tmp_path}/nothing-here.sock")

    assert choose("auto", said.append).name == "local"
    assert said == []


@pytest.mark.usefixtures("_no_docker")
def test_docker_is_not_replaced_where_it_was_asked_for() -> None:
    with pytest.raises(EngineUnavailableError, match="no Docker engine answers"):
        choose("docker")


def test_the_local_one_where_it_was_asked_for() -> None:
    assert choose("local").name == "local"

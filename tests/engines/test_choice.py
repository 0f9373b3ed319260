"""Which engine is chosen."""

from __future__ import annotations

import pytest

from harness.engines.choice import choose
from harness.errors import EngineUnavailableError


@pytest.fixture
def _no_docker(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///tmp/nothing-here.sock")


def test_docker_where_it_answers(docker_engine):
    assert choose("auto") == docker_engine
    assert choose("docker") == docker_engine


@pytest.mark.usefixtures("_no_docker")
def test_the_local_one_where_no_docker_answers():
    assert choose("auto").name == "local"


@pytest.mark.usefixtures("_no_docker")
def test_docker_is_not_replaced_where_it_was_asked_for():
    with pytest.raises(EngineUnavailableError, match="no Docker engine answers"):
        choose("docker")


def test_the_local_one_where_it_was_asked_for():
    assert choose("local").name == "local"

"""Each kind of storage that compares tokens, with each of its fencings, on real servers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from harness.network.topology import ServerSpec
from harness.spec.storages import STORAGES
from tests.support import systems
from tests.support.systems import FENCINGS, IN_CONTAINERS, CommitsOf
from workloads.storages import load_kind

CASES = [
    pytest.param(kind, fencing, marks=[pytest.mark.slow] if kind in IN_CONTAINERS else [])
    for kind, fencings in FENCINGS.items()
    for fencing in fencings
]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test with each way to fence, on one set of servers of its kind."""
    metafunc.parametrize(("kind", "fencing"), CASES, indirect=True, scope="module")


@pytest.fixture(scope="module")
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def fencing(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def servers(
    kind: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A cluster; None for a storage that is a file."""
    if kind == "sqlite":
        yield None
        return
    engine = request.getfixturevalue("docker_engine" if kind in IN_CONTAINERS else "local_engine")
    (name,) = STORAGES[kind].model_validate({"kind": kind, "fencing": "none"}).servers
    spec = ServerSpec(name=name, system=kind, cluster="storage")
    with systems.started(engine, tmp_path_factory.mktemp("run"), spec) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def at(kind: Any, servers: Any, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Where the storage is."""
    file = tmp_path_factory.mktemp("storage") / "a name with spaces?.db"
    return [str(file)] if servers is None else systems.endpoints(servers, kind)


@pytest.fixture
def open_storage(kind: Any, at: list[str], fencing: str) -> Iterator[Any]:
    with systems.storage_clients(kind, at, fencing=fencing) as open_one:
        yield open_one


@pytest.fixture(scope="module")
def resources(kind: Any, at: list[str]) -> Iterator[str]:
    """Enough resources for the tests of one kind."""
    made = [next(systems.names) for _ in range(40 * len(FENCINGS[kind]))]
    load_kind(kind).set_up(systems.storage_settings(kind, at, timeout=10), made)
    return iter(made)


@pytest.fixture
def resource(resources: Iterator[str]) -> str:
    return next(resources)


@pytest.fixture
def commits_of(kind: Any, at: list[str]) -> CommitsOf:
    return partial(systems.commits_of, kind, at)

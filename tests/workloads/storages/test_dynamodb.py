"""DynamoDB Local on a real server: its fenced register, and the commit order of its stream."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from harness.engines.engine import Cluster, Engine
from harness.network.probe import reply
from harness.network.topology import ServerSpec
from tests.support import systems
from tests.support.tap import Tap
from workloads.client import NotApplied, Stale, Unknown
from workloads.storages import dynamodb as storages

pytestmark = pytest.mark.slow  # its servers run only in containers


@pytest.fixture(scope="module")
def dynamodb(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = ServerSpec(name="dynamodb", system="dynamodb")
    with systems.started(docker_engine, tmp_path_factory.mktemp("run"), server) as cluster:
        storages.set_up(
            systems.storage_settings("dynamodb", systems.endpoints(cluster, "dynamodb"), timeout=10), []
        )
        yield cluster


@pytest.fixture(scope="module")
def endpoint(dynamodb: Cluster) -> str:
    return systems.endpoints(dynamodb, "dynamodb")[0]


@pytest.fixture
def open_storage(endpoint: str) -> Iterator[Any]:
    with systems.storage_clients(
        "dynamodb", [endpoint], fencing="conditional-expression", timeout=2.0
    ) as open_one:
        yield open_one


@pytest.fixture
def commits_of(endpoint: str) -> systems.CommitsOf:
    return partial(systems.commits_of, "dynamodb", [endpoint])


def test_the_server_answers_over_its_edge(dynamodb: Cluster) -> None:
    assert dynamodb.environment()["servers"]["dynamodb"]["version"].startswith("DynamoDB Local on Jetty")
    assert reply(dynamodb.edge(0, "dynamodb"), "dynamodb", within=2) is not None


@pytest.mark.parametrize("fencing", ["none", "conditional-expression"])
def test_the_first_write_creates_the_item(
    open_storage: Any, resource: str, commits_of: systems.CommitsOf, fencing: str
) -> None:
    storage = open_storage(fencing)
    before = storage.read(resource)

    storage.write(resource, 1, "first", systems.nothing)

    assert before == (None, 0)
    assert storage.read(resource) == ("first", 1)
    assert commits_of(resource) == [(1, "first")]


def test_the_committed_order_is_read_page_by_page(
    open_storage: Any,
    resource: str,
    commits_of: systems.CommitsOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(storages, "PAGE", 7)
    storage = open_storage("none")
    expected = [(number, f"v{number}") for number in range(1, 31)]
    for token, value in expected:
        storage.write(resource, token, value, systems.nothing)

    assert commits_of(resource) == expected


def test_a_fence_creates_an_item_without_a_value_and_is_not_a_write(
    open_storage: Any, resource: str, commits_of: systems.CommitsOf
) -> None:
    storage = open_storage(policy="inclusive")
    storage.fence(resource, 5)
    fenced = storage.read(resource)
    storage.write(resource, 5, "own", systems.nothing)
    storage.fence(resource, 6)

    with pytest.raises(Stale):
        storage.write(resource, 5, "late", systems.nothing)

    assert fenced == (None, 0)
    assert storage.read(resource) == ("own", 5)
    assert commits_of(resource) == [(5, systems.FENCE), (5, "own"), (6, systems.FENCE)]


def test_a_missing_table_applies_nothing(
    open_storage: Any, resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storages, "_TABLE", "elsewhere")
    storage = open_storage()

    with pytest.raises(NotApplied, match="ResourceNotFound"):
        storage.write(resource, 1, "lost", systems.nothing)


@pytest.mark.parametrize("most", [20, 200, 260, 300], ids=lambda most: f"{most} bytes")
def test_a_truncated_answer_is_unknown(endpoint: str, open_storage: Any, resource: str, most: int) -> None:
    open_storage().write(resource, 3, "value", systems.nothing)
    tap = Tap("dynamodb", [endpoint])
    tap.cut_after = most
    storage = storages.connect(systems.storage_settings("dynamodb", tap.endpoints))

    with pytest.raises(Unknown, match="truncated answer"):
        storage.read(resource)

    storage.reconnect()
    tap.close()


def test_the_users_proxies_and_profiles_are_ignored(
    open_storage: Any, resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")

    storage = open_storage()
    storage.write(resource, 1, "direct", systems.nothing)

    assert storage.read(resource) == ("direct", 1)
    assert storage._client.meta.config.retries["total_max_attempts"] == 1

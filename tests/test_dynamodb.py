"""DynamoDB Local on a real server: its fenced register, and the order that its stream gives."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
import systems
from systems import endpoints, storage_clients, storage_settings
from tap import Tap

from harness.engines import ServerSpec, Topology
from harness.network.probe import reply
from workloads.client import NotApplied, Stale, Unknown
from workloads.storages import dynamodb as storages

names = (f"r{number}" for number in itertools.count())


def nothing() -> None:
    """Do nothing once the request has left."""


@pytest.fixture(scope="module")
def dynamodb(docker_engine, tmp_path_factory):
    topology = Topology(
        servers=(ServerSpec(name="dynamodb", system="dynamodb"),), clients=1, partitions=False
    )
    with docker_engine.start(topology, "test-dynamodb", tmp_path_factory.mktemp("run"), print) as cluster:
        storages.set_up(storage_settings("dynamodb", endpoints(cluster, "dynamodb"), timeout=10), [])
        yield cluster


@pytest.fixture(scope="module")
def endpoint(dynamodb):
    return endpoints(dynamodb, "dynamodb")[0]


@pytest.fixture
def open_storage(endpoint):
    with storage_clients("dynamodb", [endpoint], fencing="conditional-expression", timeout=2.0) as open_one:
        yield open_one


@pytest.fixture
def resource():
    return next(names)


@pytest.fixture
def commits_of(endpoint):
    return partial(systems.commits_of, "dynamodb", [endpoint])


def test_the_server_answers_over_its_edge(dynamodb):
    assert dynamodb.environment()["servers"]["dynamodb"]["version"].startswith("DynamoDB Local on Jetty")
    assert reply(dynamodb.edge(0, "dynamodb"), "dynamodb", within=2) is not None


@pytest.mark.parametrize("fencing", ["none", "conditional-expression"])
def test_the_first_write_makes_the_item(open_storage, resource, commits_of, fencing):
    storage = open_storage(fencing)
    before = storage.read(resource)

    storage.write(resource, 1, "first", nothing)

    assert before == (None, 0)
    assert storage.read(resource) == ("first", 1)
    assert commits_of(resource) == [(1, "first")]


def test_the_committed_order_is_read_page_by_page(open_storage, resource, commits_of, monkeypatch):
    monkeypatch.setattr(storages, "PAGE", 7)
    storage = open_storage("none")
    expected = [(number, f"v{number}") for number in range(1, 31)]
    for token, value in expected:
        storage.write(resource, token, value, nothing)

    assert commits_of(resource) == expected


def test_a_fence_makes_an_item_without_a_value_and_is_no_write(open_storage, resource, commits_of):
    storage = open_storage(policy="inclusive")
    storage.fence(resource, 5)
    fenced = storage.read(resource)
    storage.write(resource, 5, "own", nothing)
    storage.fence(resource, 6)

    with pytest.raises(Stale):
        storage.write(resource, 5, "late", nothing)

    assert fenced == (None, 0)
    assert storage.read(resource) == ("own", 5)
    assert commits_of(resource) == [(5, systems.FENCE), (5, "own"), (6, systems.FENCE)]


def test_a_table_that_is_not_there_applies_nothing(open_storage, resource, monkeypatch):
    storage = open_storage()
    monkeypatch.setattr(storages, "_TABLE", "elsewhere")

    with pytest.raises(NotApplied, match="ResourceNotFound"):
        storage.write(resource, 1, "lost", nothing)


@pytest.mark.parametrize("most", [20, 200, 260, 300], ids=lambda most: f"{most} bytes")
def test_an_answer_that_is_cut_short_says_nothing(endpoint, open_storage, resource, most):
    open_storage().write(resource, 3, "value", nothing)
    tap = Tap("dynamodb", [endpoint])
    tap.cut_after = most
    storage = storages.connect(storage_settings("dynamodb", tap.endpoints))

    with pytest.raises(Unknown, match="not a whole answer"):
        storage.read(resource)

    storage.reconnect()
    tap.close()


def test_neither_proxies_nor_profiles_of_the_user_are_used(open_storage, resource, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")

    storage = open_storage()
    storage.write(resource, 1, "direct", nothing)

    assert storage.read(resource) == ("direct", 1)
    assert storage._client.meta.config.retries["total_max_attempts"] == 1

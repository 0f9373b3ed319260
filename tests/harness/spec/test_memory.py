"""A limit of memory for the servers of a side."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.core.fields import shown_size
from harness.engines.docker_compose import Project
from harness.run import deployment
from harness.spec.locks import LOCKS
from harness.spec.storages import STORAGES
from tests.support.target_files import error_in, read, target_text

ETCD = 'kind = "etcd"'
POSTGRES = 'kind = "postgres"\nfencing = "upsert"'


def test_each_server_of_the_side_has_the_limit() -> None:
    topology = deployment.topology(read(target_text(lock=f'{ETCD}\nmemory = "1.5GB"')), ())

    assert {server.name: server.memory for server in topology.servers} == {
        "etcd-1": 1_500_000_000,
        "etcd-2": 1_500_000_000,
        "etcd-3": 1_500_000_000,
        "postgres": 0,
    }


def test_compose_gets_the_limit_of_the_servers_that_have_one(tmp_path: Path) -> None:
    topology = deployment.topology(read(target_text(storage=f'{POSTGRES}\nmemory = "80MB"')), ())
    project = Project(topology, {"fencepost": "run"}, tmp_path / "override.yaml")

    services = json.loads(json.dumps(project._override()))["services"]

    assert (services["postgres"]["mem_limit"], services["postgres"]["memswap_limit"]) == (
        80_000_000,
        80_000_000,
    )
    assert not [name for name, each in services.items() if "mem_limit" in each and name != "postgres"]


@pytest.mark.parametrize(
    ("memory", "why"),
    [
        ('"1MB"', "must be from 8MB to 1TB"),
        ('"2TB"', "must be from 8MB to 1TB"),
        ('"99999999999999TB"', "must be from 8MB to 1TB"),
        ('"1GiB"', "must be a size such as"),
        ("512", "must be a size such as"),
    ],
)
def test_an_impossible_limit_is_refused(memory: str, why: str) -> None:
    assert why in error_in(target_text(lock=f"{ETCD}\nmemory = {memory}"))


def test_servers_that_already_run_have_no_limit_of_ours() -> None:
    error = error_in(target_text(lock=f'{ETCD}\nservers = ["a:1"]\nmemory = "1GB"'))

    assert "memory" in error
    assert "is for servers that Fencepost starts" in error


@pytest.mark.parametrize(
    ("lock", "storage"),
    [('kind = "m:C"\nmemory = "1GB"', POSTGRES), (ETCD, 'kind = "m:C"\nfencing = "x"\nmemory = "1GB"')],
)
def test_a_class_without_servers_has_none_to_limit(lock: str, storage: str) -> None:
    error = error_in(target_text(lock=lock, storage=storage))

    assert "for servers that Fencepost starts: set server too" in error


@pytest.mark.parametrize("model", [*LOCKS.values(), *STORAGES.values()], ids=lambda model: model.__name__)
def test_every_kind_with_servers_to_start_has_the_key(model: Any) -> None:
    chosen = {"image", "version"}.intersection(model.model_fields)
    starts = bool(chosen) or isinstance(getattr(model, "image", None), str)

    assert ("memory" in model.model_fields) == starts


@pytest.mark.parametrize(("size", "shown"), [(80_000_000, "80MB"), (1_500_000_000, "1500MB"), (1, "1MB")])
def test_a_limit_is_shown_as_files_write_it(size: int, shown: str) -> None:
    assert shown_size(size) == shown

"""A lease in a table of SQL: in a file, and what its statements compare; more is in `test_every_lock.py`."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.systems import SECOND, endpoints, hand_over, lock_clients, lock_settings, started
from tests.support.waiting import LONG_TTL, wait_for
from workloads.client import NotApplied
from workloads.locks.sql_lease import TABLES, LeaseTable, SqlLeaseService, table_of

pytestmark = pytest.mark.engine

SHORT = SECOND // 5


@pytest.fixture(scope="module")
def postgres(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    spec = ServerSpec(name="postgres-1", system="postgres", cluster="lock")
    with started(local_engine, tmp_path_factory.mktemp("run"), spec) as cluster:
        yield endpoints(cluster, "postgres")


@pytest.fixture(scope="module")
def mariadb(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    spec = ServerSpec(name="mariadb-1", system="mariadb", cluster="lock")
    with started(docker_engine, tmp_path_factory.mktemp("run"), spec) as cluster:
        yield endpoints(cluster, "mariadb")


@pytest.fixture(
    scope="module", params=["sqlite", "postgres", pytest.param("mariadb", marks=pytest.mark.slow)]
)
def database(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def at(database: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    if database == "sqlite":
        return [str(tmp_path_factory.mktemp("run") / "lock.db")]
    return request.getfixturevalue(database)


@pytest.fixture
def open_table(database: str, at: list[str]) -> Iterator[Any]:
    opened: list[LeaseTable] = []

    def open_one(ttl: int = LONG_TTL) -> LeaseTable:
        settings = lock_settings(f"sql-lease on {database}", at, ttl=ttl)
        opened.append(table_of(settings)(settings))
        opened[-1].create()
        return opened[-1]

    yield open_one
    for table in opened:
        table.close()


def test_a_table_of_every_database_is_tested_here() -> None:
    assert set(TABLES) == {"mariadb", "postgres", "sqlite"}


def test_only_the_owner_of_a_lease_renews_and_releases_it(open_table: Any, resource: str) -> None:
    table = open_table()
    token = table.take(resource, "0-1")

    assert table.take(resource, "1-1") is None
    assert not table.renew(resource, "1-1")
    assert not table.release(resource, "1-1")

    assert token == 1
    assert table.renew(resource, "0-1")
    assert table.release(resource, "0-1")
    assert not table.release(resource, "0-1")


def test_the_token_rises_with_each_grant_and_not_with_a_renewal(open_table: Any, resource: str) -> None:
    table, short = open_table(), open_table(SHORT)
    first = table.take(resource, "0-1")
    table.renew(resource, "0-1")
    table.release(resource, "0-1")
    second = short.take(resource, "0-2")  # it is not released

    third = wait_for(lambda: table.take(resource, "1-1"))

    assert [first, second, third] == [1, 2, 3]


def test_a_lease_that_has_ended_cannot_be_renewed(open_table: Any, resource: str) -> None:
    short, table = open_table(SHORT), open_table()
    short.take(resource, "0-1")
    over = time.monotonic_ns() + 2 * SHORT
    assert wait_for(lambda: time.monotonic_ns() > over)

    assert not short.renew(resource, "0-1")  # although it is still free
    assert table.take(resource, "1-1") == 2
    assert not short.renew(resource, "0-1")


def test_a_lease_lasts_from_its_request_on_and_no_shorter(open_table: Any, resource: str) -> None:
    short, table = open_table(SHORT), open_table()
    for token in range(1, 11):
        sent = time.monotonic_ns()
        assert short.take(resource, f"0-{token}") == 2 * token - 1
        assert wait_for(lambda: table.take(resource, "1-1")) == 2 * token
        assert time.monotonic_ns() - sent >= SHORT
        table.release(resource, "1-1")


def test_of_clients_that_race_for_a_lease_one_gets_it(open_table: Any, resource: str) -> None:
    tables = [open_table() for _ in range(6)]
    granted: list[tuple[int, int]] = []
    barrier = threading.Barrier(len(tables))

    def race(number: int) -> None:
        barrier.wait()
        tokens = [
            tables[number].take(f"{resource}-{attempt}", f"{number}-{attempt}") for attempt in range(10)
        ]
        granted.extend((attempt, token) for attempt, token in enumerate(tokens) if token)

    racing = [threading.Thread(target=race, args=(number,)) for number in range(len(tables))]
    for each in racing:
        each.start()
    for each in racing:
        each.join()

    assert sorted(granted) == [(attempt, 1) for attempt in range(10)]


def test_a_file_is_created_by_the_first_acquire_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "lock.db"
    with lock_clients() as open_lock:
        (first, _), (second, _) = (open_lock("sql-lease on sqlite", [str(file)], client) for client in (0, 1))
        held, _, granted = hand_over(first, second, "r0")
        second.release("r0", "1-1")

    assert (held.token, granted.token) == (1, 2)
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_table_that_could_not_be_created_is_created_later(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "lock.db"
    settings = lock_settings("sql-lease on sqlite", [str(file)])
    with closing(SqlLeaseService(table_of(settings)(settings), settings.ttl)) as service:
        with pytest.raises((NotApplied, OSError)):
            service.try_lock("r0", "0-1")
        file.parent.mkdir()

        lease = service.try_lock("r0", "0-1")

    assert lease
    assert lease.token == 1

"""The register on a real PostgreSQL: the outcomes of calls; its ways to fence are in `every_storage/`."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import Any

import psutil
import pytest

from checkers.history.records import Commit
from harness.engines.engine import Cluster
from tests.support.stopped import frozen
from tests.support.systems import endpoints, nothing, storage_settings
from tests.support.waiting import PATIENCE, SOON, wait_for
from workloads.client import NotApplied, Unknown
from workloads.settings import StorageSettings, host_and_port
from workloads.storages import postgres
from workloads.storages.postgres import PostgresStorage
from workloads.storages.postgres_connection import PostgresConnection

resources = (f"r{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def settings(servers: Cluster) -> StorageSettings:
    found = storage_settings("postgres", endpoints(servers, "postgres"), timeout=5)
    postgres.set_up(found, [])
    return found


@pytest.fixture(scope="module")
def conninfo(settings: StorageSettings) -> str:
    return postgres.conninfo(*host_and_port(settings.endpoints[0]), settings.password)


@pytest.fixture
def open_storage(conninfo: str) -> Iterator[Any]:
    """Make clients of the test's own resource, set up for each way to fence as in a run."""
    with ExitStack() as stack:

        def open_one(fencing: str, policy: str = "strict", timeout: float = 1.0) -> PostgresStorage:
            wire = stack.enter_context(closing(PostgresConnection(conninfo, timeout)))
            return PostgresStorage(wire, fencing, policy)

        yield open_one


@pytest.fixture
def resource(conninfo: str) -> str:
    name = next(resources)
    PostgresConnection(conninfo, 5).execute("INSERT INTO register VALUES ($1, NULL, -1, -1)", (name,))
    return name


def commits_of(settings: StorageSettings, resource: str) -> list[tuple[Any, Any]]:
    return [(each.token, each.value) for each in postgres.committed(settings) if each.resource == resource]


def test_an_upsert_needs_no_row(open_storage: Any) -> None:
    storage = open_storage("upsert")
    fresh = next(resources)

    assert storage.read(fresh) == (None, 0)
    storage.write(fresh, 1, "first", nothing)

    assert storage.read(fresh) == ("first", 1)


def test_the_request_is_sent_when_sent_is_called(
    open_storage: Any, settings: StorageSettings, resource: str
) -> None:
    storage = open_storage("conditional-update")
    landed: list[Any] = []

    def look() -> None:
        landed.extend(wait_for(lambda: commits_of(settings, resource)))

    storage.write(resource, 1, "sent", look)

    assert landed == [(1, "sent")]


@pytest.mark.slow
@pytest.mark.parametrize("fencing", ["none", "conditional-update", "upsert"])
def test_a_write_to_a_stopped_server_is_unknown_and_takes_effect_later(
    open_storage: Any, resource: str, servers: Cluster, fencing: str, settings: StorageSettings
) -> None:
    storage = open_storage(fencing, timeout=0.5)
    storage.read(resource)

    with frozen(servers, "postgres"):
        called = time.monotonic()
        with pytest.raises(Unknown, match="no answer in time"):
            storage.write(resource, 3, f"late {fencing}", nothing)
        took = time.monotonic() - called

    assert 0.5 <= took < SOON
    assert wait_for(lambda: commits_of(settings, resource)) == [(3, f"late {fencing}")]


def test_connecting_to_a_stopped_server_ends_in_time_and_applies_nothing(
    open_storage: Any, resource: str, servers: Cluster
) -> None:
    storage = open_storage("none", timeout=0.5)

    with frozen(servers, "postgres"):
        called = time.monotonic()
        with pytest.raises(NotApplied, match="not connected"):
            storage.write(resource, 1, "never", nothing)
        took = time.monotonic() - called

    assert took < SOON


def test_a_refused_connection_applies_nothing() -> None:
    storage = PostgresStorage(PostgresConnection(postgres.conninfo("127.0.0.1", 1), 1), "none", "strict")

    with pytest.raises(NotApplied, match="refused Is the server running"):
        storage.write("r0", 1, "never", nothing)


def test_a_backend_terminated_during_a_write_leaves_it_unknown(
    open_storage: Any, conninfo: str, resource: str
) -> None:
    storage = open_storage("none", timeout=5)
    storage.read(resource)
    blocker = PostgresConnection(conninfo, 5)
    blocker.execute("BEGIN")
    blocker.execute("SELECT 1 FROM register WHERE resource = $1 FOR UPDATE", (resource,))

    def terminate_the_waiting_backend() -> None:
        admin = PostgresConnection(conninfo, 5)
        waiting = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        wait_for(lambda: admin.execute(waiting))
        admin.close()

    with pytest.raises(Unknown, match="terminating connection"):
        storage.write(resource, 1, "doubtful", terminate_the_waiting_backend)
    blocker.close()


def test_the_committed_order_carries_sequence_resource_token_and_value(
    settings: StorageSettings, open_storage: Any, resource: str
) -> None:
    storage = open_storage("conditional-update")
    storage.write(resource, 1, "a", nothing)
    storage.write(resource, 2, "b", nothing)

    mine = [each for each in postgres.committed(settings) if each.resource == resource]

    first, second = mine
    assert first == Commit(seq=first.seq, resource=resource, token=1, value="a")
    assert second == Commit(seq=second.seq, resource=resource, token=2, value="b")
    assert first.seq < second.seq


def test_rows_are_read_as_they_arrive(conninfo: str) -> None:
    with contextlib.closing(PostgresConnection(conninfo, PATIENCE)) as wire:
        rows = wire.rows("SELECT generate_series(1, 1000000000000)")

        assert [*itertools.islice(rows, 3)] == [(b"1",), (b"2",), (b"3",)]


def test_an_error_between_rows_is_not_the_end(conninfo: str) -> None:
    with contextlib.closing(PostgresConnection(conninfo, SOON)) as wire:
        rows = wire.rows("SELECT 1 / (3 - each) FROM generate_series(1, 5) each")

        assert [next(rows), next(rows)] == [(b"0",), (b"1",)]
        with pytest.raises(NotApplied, match="division by zero"):
            next(rows)


def test_no_postgres_process_stays_stopped(servers: Any) -> None:
    processes = [psutil.Process(child.process.pid) for child in servers.children]

    assert all(process.status() != psutil.STATUS_STOPPED for process in processes)

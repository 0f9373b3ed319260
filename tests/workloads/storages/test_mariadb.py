"""The register on a real MariaDB: the outcomes of calls; its ways to fence are in `every_storage/`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from harness.engines.engine import Cluster, Engine
from harness.network import mariadb_server
from harness.network.systems import SYSTEMS
from harness.network.topology import ServerSpec
from tests.support import systems
from tests.support.stopped import frozen
from tests.support.systems import names, nothing, storage_settings
from tests.support.waiting import SOON, wait_for
from workloads.client import NotApplied, Stale, Unknown
from workloads.mariadb_connection import MariadbConnection
from workloads.settings import StorageSettings
from workloads.sql_transaction import transaction
from workloads.storages import mariadb

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # its servers run only in containers

FENCINGS = ["conditional-update", "select-for-update", "upsert"]
ONE_MESSAGE = ["none", "conditional-update", "upsert"]
WAITING = """SELECT 1 FROM information_schema.global_status
    WHERE variable_name = 'Innodb_row_lock_current_waits' AND variable_value > 0"""
LOCK_ROW = "SELECT mark FROM register WHERE resource = %(resource)s FOR UPDATE"


@pytest.fixture(scope="module")
def cluster(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = ServerSpec(name="mariadb", system="mariadb")
    with systems.started(docker_engine, tmp_path_factory.mktemp("run"), server) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def settings(cluster: Cluster) -> StorageSettings:
    found = storage_settings("mariadb", systems.endpoints(cluster, "mariadb"), timeout=5)
    mariadb.set_up(found, [])
    return found


@pytest.fixture
def connect(settings: StorageSettings) -> Iterator[Callable[[], MariadbConnection]]:
    """A function that makes connections, which the test closes at its end."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(mariadb.make_connections(settings)[0]))


@pytest.fixture
def resource(connect: Callable[[], MariadbConnection]) -> str:
    name = next(names)
    connect().execute("INSERT INTO register VALUES (%(name)s, NULL, -1, -1)", {"name": name})
    return name


@pytest.fixture
def open_storage(settings: StorageSettings) -> Iterator[Any]:
    with systems.storage_clients("mariadb", settings.endpoints, fencing="none") as open_one:
        yield open_one


@pytest.fixture
def commits_of(settings: StorageSettings) -> systems.CommitsOf:
    return partial(systems.commits_of, "mariadb", settings.endpoints)


@pytest.fixture
def held(connect: Callable[[], MariadbConnection], resource: str) -> MariadbConnection:
    """Another client, which has locked the row."""
    other = connect()
    other.execute("BEGIN")
    other.execute(LOCK_ROW, {"resource": resource})
    return other


@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize("fencing", FENCINGS)
def test_a_write_repeated_under_an_inclusive_fence_is_accepted(
    settings: StorageSettings, resource: str, fencing: str, logged: bool
) -> None:
    own = replace(settings, fencing=fencing, policy="inclusive", logged=logged)
    with closing(mariadb.make_connections(settings)[0]) as connection:
        storage = mariadb.MariadbStorage([connection], fencing, "inclusive", logged=own.logged)
        storage.write(resource, 5, "same", nothing)

        storage.write(resource, 5, "same", nothing)  # it changes nothing, and is no stale write

        with pytest.raises(Stale):
            storage.write(resource, 4, "older", nothing)


def test_resources_differ_by_case_and_by_a_space_at_the_end(
    open_storage: Any, commits_of: systems.CommitsOf
) -> None:
    storage, name = open_storage("upsert"), next(names)
    for resource in (name, name.upper(), f"{name} "):
        storage.write(resource, 1, resource, nothing)

    assert [storage.read(each)[0] for each in (name, name.upper(), f"{name} ")] == [
        name,
        name.upper(),
        f"{name} ",
    ]
    assert commits_of(name) == [(1, name)]


@pytest.mark.parametrize("fencing", ONE_MESSAGE)
def test_a_write_to_a_stopped_server_is_unknown_and_takes_effect_later(
    open_storage: Any, resource: str, cluster: Cluster, fencing: str, commits_of: systems.CommitsOf
) -> None:
    storage = open_storage(fencing, timeout=0.5)
    storage.read(resource)

    with frozen(cluster, "mariadb"):
        called = time.monotonic()
        with pytest.raises(Unknown, match=r"timed out.*\(2013\)"):
            storage.write(resource, 3, f"late {fencing}", nothing)
        took = time.monotonic() - called

    assert 0.5 <= took < SOON
    assert wait_for(lambda: commits_of(resource)) == [(3, f"late {fencing}")]


@pytest.mark.parametrize("fencing", ["conditional-update", "select-for-update", "upsert"])
def test_a_write_that_waits_too_long_for_a_row_is_not_applied(
    connect: Any, held: MariadbConnection, resource: str, fencing: str, commits_of: systems.CommitsOf
) -> None:
    own = connect()
    own.execute("SET SESSION innodb_lock_wait_timeout = 1")
    storage = mariadb.MariadbStorage([own], fencing, "strict")

    with pytest.raises(NotApplied, match=r"Lock wait timeout exceeded.*\(1205\)"):
        storage.write(resource, 1, "never", nothing)
    held.execute("COMMIT")

    assert commits_of(resource) == []
    storage.write(resource, 2, "then", nothing)  # no transaction was left open
    assert commits_of(resource) == [(2, "then")]


def test_the_loser_of_a_deadlock_has_written_nothing(
    connect: Any, held: MariadbConnection, resource: str, commits_of: systems.CommitsOf
) -> None:
    first, second = connect(), connect()
    other = next(names)
    second.execute("INSERT INTO register VALUES (%(name)s, NULL, -1, -1)", {"name": other})
    refused: list[str] = []

    def loser() -> None:
        with suppress(NotApplied), transaction(first):
            first.execute(LOCK_ROW, {"resource": other})
            try:
                first.execute(LOCK_ROW, {"resource": resource})
            except NotApplied as error:
                refused.append(str(error))
                raise

    held.execute("UPDATE register SET token = 0 WHERE resource = %(name)s", {"name": resource})  # weighs more
    waiting = threading.Thread(target=loser)
    waiting.start()
    assert wait_for(lambda: second.execute(WAITING))
    held.execute(LOCK_ROW, {"resource": other})
    waiting.join(SOON)

    held.execute("COMMIT")
    assert [said[-6:] for said in refused] == ["(1213)"]
    assert commits_of(resource) == commits_of(other) == []


def test_a_snapshot_that_is_out_of_date_is_not_written_to(connect: Any, resource: str) -> None:
    reader, writer = connect(), connect()
    reader.execute("BEGIN")
    reader.execute("SELECT mark FROM register WHERE resource = %(resource)s", {"resource": resource})
    change = "UPDATE register SET mark = 7 WHERE resource = %(resource)s"
    writer.execute(change, {"resource": resource})

    with pytest.raises(NotApplied, match=r"Record has changed since last read.*\(1020\)"):
        reader.execute(change, {"resource": resource})


def test_a_connection_killed_during_a_write_leaves_it_unknown(
    connect: Any, held: MariadbConnection, resource: str
) -> None:
    own, admin = connect(), connect()
    storage = mariadb.MariadbStorage([own], "none", "strict")
    ((number,),) = own.execute("SELECT CONNECTION_ID()")

    def kill_the_waiting_connection() -> None:
        assert wait_for(lambda: admin.execute(WAITING))
        admin.execute(f"KILL {number}")

    with pytest.raises(Unknown):
        storage.write(resource, 1, "doubtful", kill_the_waiting_connection)
    held.execute("COMMIT")


@pytest.mark.nightly
def test_a_holder_idle_in_a_transaction_keeps_its_row_for_five_seconds(
    connect: Any, held: MariadbConnection, resource: str, commits_of: systems.CommitsOf
) -> None:
    began = time.monotonic()
    mariadb.MariadbStorage([connect()], "conditional-update", "strict").write(resource, 1, "at last", nothing)

    assert 4 < time.monotonic() - began < 4 + SOON
    assert commits_of(resource) == [(1, "at last")]
    with pytest.raises(NotApplied, match="closed the connection, or sent data before any request"):
        held.execute("COMMIT")


def test_a_connection_closed_by_the_server_is_reopened_before_a_statement(connect: Any) -> None:
    own, admin = connect(), connect()
    ((number,),) = own.execute("SELECT CONNECTION_ID()")
    admin.execute(f"KILL {number}")
    assert wait_for(lambda: number not in [row[0] for row in admin.execute("SHOW PROCESSLIST")])

    assert own.execute("SELECT 'still'") == [("still",)]


def test_connecting_to_a_stopped_server_ends_in_time_and_applies_nothing(
    open_storage: Any, resource: str, cluster: Cluster
) -> None:
    storage = open_storage(timeout=0.5)

    with frozen(cluster, "mariadb"):
        called = time.monotonic()
        with pytest.raises(NotApplied, match="not connected"):
            storage.write(resource, 1, "never", nothing)
        took = time.monotonic() - called

    assert took < SOON


def test_the_server_shows_its_clock_and_version(cluster: Cluster) -> None:
    address = cluster.servers[0].address

    off = abs(mariadb_server.clock(address) - time.time_ns())

    assert off < SOON * systems.SECOND
    assert SYSTEMS["mariadb"].version(address).startswith("11.8.")

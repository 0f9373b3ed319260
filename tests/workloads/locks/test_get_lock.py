"""MariaDB's GET_LOCK on a real server: what ends a hold; what all locks share is in `test_every_lock.py`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from harness.engines.engine import Cluster, Engine
from harness.network.topology import ServerSpec
from tests.support.systems import SECOND, endpoints, lock_clients, lock_settings, started
from tests.support.waiting import LONG_TTL, wait_for
from workloads.client import NotApplied
from workloads.locks.get_lock import lock_name
from workloads.mariadb_connection import MariadbConnection

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # its servers run only in containers


@pytest.fixture(scope="module")
def at(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    spec = ServerSpec(name="mariadb-1", system="mariadb", cluster="lock")
    cluster: Cluster
    with started(docker_engine, tmp_path_factory.mktemp("run"), spec) as cluster:
        yield endpoints(cluster, "mariadb")


@pytest.fixture
def open_lock(at: list[str]) -> Iterator[Any]:
    with lock_clients() as open_one:
        yield lambda client=0, ttl=LONG_TTL: open_one("get-lock", at, client, ttl=ttl, timeout=5.0)


@pytest.fixture
def admin(at: list[str]) -> Iterator[MariadbConnection]:
    with closing(MariadbConnection(lock_settings("get-lock", at), None)) as connection:
        yield connection


def holder(admin: MariadbConnection, resource: str) -> Any:
    """The number of the session that has the lock; None if it is free."""
    ((number,),) = admin.execute("SELECT IS_USED_LOCK(%(name)s)", {"name": lock_name(resource)})
    return number


def test_no_lease_is_promised(open_lock: Any, resource: str) -> None:
    lock, _ = open_lock()

    granted = lock.acquire(resource, "0-1")

    assert granted.ttl is lock.asks_for is None


def test_a_killed_session_frees_its_lock_at_once(
    open_lock: Any, admin: MariadbConnection, resource: str
) -> None:
    (first, _), (second, _) = open_lock(0), open_lock(1)
    held = first.acquire(resource, "0-1")

    admin.execute(f"KILL {holder(admin, resource)}")
    granted = second.acquire(resource, "1-1")

    assert (held.token, granted.token) == (1, 2)
    with pytest.raises(NotApplied, match="not the holder"):
        first.release(resource, "0-1")
    assert holder(admin, resource) is not None  # the second one has it still


def test_a_session_that_ends_is_a_failed_renewal(
    open_lock: Any, admin: MariadbConnection, resource: str
) -> None:
    lock, memory = open_lock(ttl=SECOND)
    lock.acquire(resource, "0-1")

    admin.execute(f"KILL {holder(admin, resource)}")

    assert wait_for(lambda: memory.of("fail"))
    assert memory.of("fail")[0]["error"] == "lock lost"


def test_a_client_that_closes_frees_its_lock(open_lock: Any, admin: MariadbConnection, resource: str) -> None:
    lock, _ = open_lock()
    lock.acquire(resource, "0-1")
    held = holder(admin, resource)

    lock.close()

    assert held is not None
    assert wait_for(lambda: holder(admin, resource) is None)


def test_a_lock_whose_counter_cannot_be_raised_is_not_kept(
    open_lock: Any, admin: MariadbConnection, resource: str
) -> None:
    lock, _ = open_lock()
    lock.acquire("other", "0-1")  # creates the table
    lock.release("other", "0-1")
    admin.execute("RENAME TABLE fencepost.counter TO fencepost.moved")
    try:
        with pytest.raises(NotApplied, match=r"doesn't exist.*\(1146\)"):
            lock.acquire(resource, "0-2")
    finally:
        admin.execute("RENAME TABLE fencepost.moved TO fencepost.counter")

    assert wait_for(lambda: holder(admin, resource) is None)

"""Each planted bug of a lease in a table, shown directly on a real PostgreSQL, with its twin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.systems import SECOND, endpoints, lock_clients, started
from tests.support.waiting import LONG_TTL
from workloads.client import NotApplied

TWIN = "sql-lease on postgres"
NO_NEW_TOKEN = "workloads.zoo.takeover_without_a_new_token:TakeoverWithoutANewToken"  # noqa: S105 - a class
TAKES_BACK = "workloads.zoo.renewal_that_takes_back:RenewalThatTakesBack"
OWN_CLOCK = "workloads.zoo.expiry_by_the_clients_clock:ExpiryByTheClientsClock"
SHORT = SECOND // 2


@pytest.fixture(scope="module")
def at(local_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    spec = ServerSpec(name="postgres-1", system="postgres", cluster="lock")
    with started(local_engine, tmp_path_factory.mktemp("run"), spec) as cluster:
        yield endpoints(cluster, "postgres")


@pytest.fixture
def open_lock(at: list[str]) -> Iterator[Any]:
    with lock_clients() as open_one:
        common: dict[str, Any] = {"ttl": LONG_TTL, "timeout": 5.0}
        yield lambda kind, client=0, **more: open_one(kind, at, client, **common | more)[0]


@pytest.mark.parametrize(("kind", "tokens"), [(NO_NEW_TOKEN, [1, 2, 2]), (TWIN, [1, 2, 3])])
def test_only_a_release_lets_the_token_of_the_bug_rise(
    open_lock: Any, resource: str, kind: str, tokens: list[int]
) -> None:
    lock, gone = open_lock(kind), open_lock(kind, 1, ttl=SHORT)
    granted = [lock.acquire(resource, "0-1").token]
    lock.release(resource, "0-1")
    granted.append(gone.acquire(resource, "1-1").token)
    gone._renewals.stop()

    granted.append(lock.acquire(resource, "0-2").token)  # it has expired

    assert granted == tokens


@pytest.mark.parametrize("kind", [TAKES_BACK, TWIN])
def test_a_renewal_of_a_lost_lease_takes_it_back(open_lock: Any, resource: str, kind: str) -> None:
    late, successor = open_lock(kind, ttl=SHORT), open_lock(kind, 1)
    late.acquire(resource, "0-1")
    late._renewals.stop()
    successor.acquire(resource, "1-1")
    calls: list[Callable[[], object]] = [
        lambda: late._renewing.renew(resource, "0-1", ""),
        lambda: late.release(resource, "0-1"),
    ]

    assert [is_done(call) for call in calls] == [kind == TAKES_BACK] * 2


def is_done(call: Callable[[], object]) -> bool:
    try:
        call()
    except NotApplied:
        return False
    return True


@pytest.mark.parametrize(("kind", "is_taken"), [(OWN_CLOCK, True), (TWIN, False)])
def test_a_client_whose_clock_is_ahead_takes_a_lease_that_is_held(
    open_lock: Any, resource: str, kind: str, is_taken: bool
) -> None:
    holder, ahead = open_lock(kind, 1), open_lock(kind, 0)
    holder.acquire(resource, "1-1")

    taken = ahead._service.try_lock(resource, "0-1")

    assert (taken is not None) == is_taken

"""etcd's lock on a real etcd: grants, tokens, leases and recorded operations."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from checkers.history.records import Outcome
from harness.clients.recorder import RecordedSession
from harness.engines.engine import Cluster
from tests.support.stopped import frozen
from tests.support.systems import Memory, lock_clients, lock_settings
from tests.support.systems import endpoints as endpoints_of
from tests.support.tap import Tap
from tests.support.waiting import LONG_TTL, SOON, wait_for
from workloads.client import NotApplied, Unknown
from workloads.locks import etcd, etcd_lock_service

resources = (f"lock-{number}" for number in itertools.count())


@pytest.fixture
def endpoints(servers: Cluster) -> list[str]:
    return endpoints_of(servers, "etcd")


@pytest.fixture
def open_lock(endpoints: list[str]) -> Iterator[Any]:
    with lock_clients() as open_one:
        yield partial(open_one, "etcd", endpoints)


@pytest.fixture
def resource() -> str:
    return next(resources)


@pytest.mark.slow
def test_a_lease_without_keep_alives_ends_the_hold(open_lock: Any, resource: str) -> None:
    (first, _), (second, _) = open_lock(0), open_lock(1)
    held = first.acquire(resource, "0-1")
    first._lease.stop()

    granted = second.acquire(resource, "1-1")

    assert granted.token > held.token
    with pytest.raises(NotApplied, match="not the holder"):
        first.release(resource, "0-1")


def test_the_lease_grant_is_recorded_before_the_lock_is_requested(open_lock: Any, resource: str) -> None:
    lock, memory = open_lock()

    grant = lock.acquire(resource, "0-1")

    first = memory.of("ok")[0]
    assert (first["f"], first["owner"], first["process"]) == ("renew", "0-1", 10)
    assert first["time"] < grant.attempt
    assert grant.ttl is None


def test_a_waiter_renews_at_once_when_it_is_granted(open_lock: Any, resource: str) -> None:
    (first, _), (second, memory) = open_lock(0), open_lock(1)
    first.acquire(resource, "0-1")
    releasing = threading.Timer(0.4, first.release, (resource, "0-1"))
    releasing.start()

    grant = second.acquire(resource, "1-1")

    assert any(event["time"] > grant.attempt for event in memory.of("ok"))


def test_a_lost_lease_is_recorded_as_a_failed_renewal(open_lock: Any, resource: str) -> None:
    lock, memory = open_lock()
    lock.acquire(resource, "0-1")
    lock._connection.call("Lease/LeaseRevoke", ID=lock._lease.lease)

    wait_for(lambda: memory.of("fail"))

    (failed,) = memory.of("fail")
    assert (failed["f"], failed["error"]) == ("renew", "lease lost")


def test_revoking_frees_a_lock_at_once(open_lock: Any, resource: str) -> None:
    (first, _), (second, _) = open_lock(0, ttl=LONG_TTL), open_lock(1)
    first.acquire(resource, "0-1")

    first.revoke(resource, "0-1")
    called = time.monotonic()
    second.acquire(resource, "1-1")

    assert time.monotonic() - called < SOON


def test_a_keep_alive_to_a_stopped_server_is_info_and_ends_its_process(
    open_lock: Any, resource: str, servers: Cluster
) -> None:
    lock, memory = open_lock(timeout=0.3)
    lock.acquire(resource, "0-1")

    with frozen(servers, "etcd"):
        wait_for(lambda: memory.of("info"))

    doubtful = memory.of("info")[0]
    assert doubtful["f"] == "renew"
    later = memory.events[memory.events.index(doubtful) + 1 :]
    assert all(event["process"] != doubtful["process"] for event in later)


def test_a_refused_connection_applies_nothing() -> None:
    session = RecordedSession(Memory(), process=0, stride=1)
    lock = etcd.connect(lock_settings("etcd", ["127.0.0.1:1"]), session)

    with pytest.raises(NotApplied):
        lock.acquire("r0", "0-1")
    lock.close()


def test_an_outcome_is_only_definite_where_the_protocol_guarantees_it() -> None:
    memory = Memory()
    session = RecordedSession(memory, process=3, stride=10)

    def unclear() -> None:
        raise TimeoutError("no answer")

    def refused() -> None:
        raise NotApplied("refused")

    assert session.call("write", "r0", unclear).outcome is Outcome.INFO
    assert session.call("write", "r0", refused).outcome is Outcome.FAIL

    assert [event["process"] for event in memory.events] == [3, 3, 13, 13]


@pytest.mark.parametrize("attempt", range(5))  # sometimes the read of the key is sent before the server stops
def test_a_lock_whose_key_cannot_be_read_is_still_granted(
    endpoints: list[str], resource: str, attempt: int
) -> None:
    tap = Tap("etcd", endpoints)
    tap.last_words = b"fencepost/"  # the key that is granted
    session = RecordedSession(Memory(), process=10, stride=100)
    settings = lock_settings("etcd-lock", tap.endpoints, token="create-revision")
    lock = etcd_lock_service.connect(settings, session)

    with pytest.raises(Unknown):
        lock.acquire(resource, f"0-{attempt}")

    lock.close()
    tap.drain(within=5)
    tap.close()

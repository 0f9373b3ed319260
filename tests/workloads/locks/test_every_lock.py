"""Tests that apply to every kind of lock, on real servers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from harness.clients.recorder import RecordedSession
from tests.support import systems
from tests.support.waiting import LONG_TTL, SOON
from workloads.client import NotApplied
from workloads.locks import connect, redlock, set_up

pytestmark = pytest.mark.engine

IN_STEPS = ("etcd", "etcd-lock", "redlock", "zookeeper")
"""Kinds whose clients have a step left after they know of the grant."""
WITHOUT_PROMISE = ("get-lock",)
"""Kinds that promise no time."""


@pytest.fixture(scope="module", params=systems.lock_kinds())
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def servers(
    kind: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    engine = request.getfixturevalue(systems.ENGINES.get(kind, "local_engine"))
    system, count, _ = systems.LOCKS[kind]
    specs = tuple(systems.server(f"{system}-{number + 1}", system) for number in range(count))
    with systems.started(engine, tmp_path_factory.mktemp("run"), *specs) as cluster:
        set_up(systems.lock_settings(kind, systems.endpoints(cluster, system)))
        yield cluster


@pytest.fixture
def open_lock(kind: Any, servers: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(redlock, "SERVER_TIMEOUT", 1)  # second; a healthy server of a busy machine needs that
    system, _, token = systems.LOCKS[kind]
    with systems.lock_clients() as open_one:
        yield partial(open_one, kind, systems.endpoints(servers, system), token=token)


def test_the_token_rises_with_each_grant(open_lock: Any, resource: str) -> None:
    lock, _ = open_lock()
    tokens = []
    for hold in range(3):
        tokens.append(lock.acquire(resource, f"0-{hold}").token)
        lock.release(resource, f"0-{hold}")

    assert tokens == sorted(set(tokens))


@pytest.mark.slow
def test_a_waiter_is_granted_only_after_the_release(open_lock: Any, resource: str) -> None:
    (first, _), (second, _) = open_lock(0), open_lock(1)

    held, asked, granted = systems.hand_over(first, second, resource)

    assert granted.token > held.token
    assert granted.attempt is None or granted.attempt > asked + 0.1 * systems.SECOND  # not its first request


@pytest.mark.slow
def test_a_waiter_reports_granted_before_its_acquire_returns(
    open_lock: Any, kind: str, resource: str
) -> None:
    at_granted, reported = [], []

    def granted(granted_resource: Any, owner: Any) -> None:
        reported.append((granted_resource, owner))
        at_granted.append(time.monotonic_ns())

    (first, _), (second, _) = open_lock(0), open_lock(1, granted=granted)
    for _ in range(5):
        systems.hand_over(first, second, resource)
        returned = time.monotonic_ns()
        if reported or kind not in IN_STEPS:
            break
        second.release(resource, "1-1")  # on a busy machine, it may have asked only after the release

    assert reported == ([(resource, "1-1")] if kind in IN_STEPS else [])
    assert all(moment < returned for moment in at_granted)


def fall_silent(lock: Any) -> None:
    """Stop all renewals of the lease, as a pause of the process would."""
    (lock._renewals if hasattr(lock, "_renewals") else lock._lease._renewals).stop()
    if hasattr(lock, "_session"):  # kazoo sends heartbeats of its own
        lock._session._client._connection._send_ping = lambda _timeout: None


@pytest.mark.slow
def test_a_lease_without_renewals_ends_the_hold(open_lock: Any, resource: str) -> None:
    (first, _), (second, _) = open_lock(0), open_lock(1)
    held = first.acquire(resource, "0-1")
    fall_silent(first)

    granted = second.acquire(resource, "1-1")

    assert granted.token > held.token
    assert held.ttl is None or time.monotonic_ns() > held.attempt + held.ttl


@pytest.mark.slow
def test_a_renewed_lease_outlasts_its_ttl(open_lock: Any, kind: str, resource: str) -> None:
    lock, memory = open_lock()
    lock.acquire(resource, "0-1")
    until = time.monotonic_ns() + round(1.5 * systems.TTL)
    while time.monotonic_ns() < until:
        time.sleep(0.01)

    lock.release(resource, "0-1")

    renewals = memory.of("ok")
    assert len(renewals) >= 3
    assert all((event["f"], event["owner"]) == ("renew", "0-1") for event in renewals)
    promised = {event["ttl"] for event in renewals}
    assert kind not in WITHOUT_PROMISE or promised == {None}
    assert kind in WITHOUT_PROMISE or all(0.9 * systems.TTL < ttl <= systems.TTL for ttl in promised)


@pytest.mark.slow
def test_revoking_frees_only_the_lock_of_that_owner(open_lock: Any, resource: str) -> None:
    (first, _), (second, _) = open_lock(0, ttl=LONG_TTL), open_lock(1)
    held = first.acquire(resource, "0-1")

    first.revoke(resource, "0-1")
    called = time.monotonic()
    granted = second.acquire(resource, "1-1")

    assert time.monotonic() - called < SOON
    assert granted.token > held.token


@pytest.mark.slow
def test_a_refused_connection_applies_nothing(kind: str) -> None:
    settings = systems.lock_settings(kind, ["127.0.0.1:1"], token=systems.LOCKS[kind][2])
    lock = connect(settings, RecordedSession(systems.Memory(), 0, 1))

    with pytest.raises(NotApplied):
        lock.acquire("r0", "0-1")
    lock.close()

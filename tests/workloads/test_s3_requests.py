"""The requests of the S3 lock and storage: which ones each call sends, and what a late PUT does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from typing import Any

import pytest

from harness.engines.engine import Cluster
from tests.support.stopped import frozen
from tests.support.systems import (
    SECOND,
    commits_of,
    lock_clients,
    lock_settings,
    nothing,
    storage_clients,
    storage_settings,
)
from tests.support.tap import Tap
from tests.support.waiting import PATIENCE, wait_for
from workloads.client import NotApplied, Stale, Unknown
from workloads.locks.conditional import ConditionalLockService
from workloads.locks.s3 import service
from workloads.s3_bucket import Bucket
from workloads.storages import load_kind

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # its servers run only in containers


@pytest.fixture
def tap(s3_endpoint: str) -> Iterator[Tap]:
    with closing(Tap("s3", [s3_endpoint])) as opened:
        load_kind("s3").set_up(storage_settings("s3", [s3_endpoint]), [])
        yield opened


def methods(tap: Tap) -> str:
    """The methods of what was sent; only a PUT has a body."""
    return " ".join("PUT" if body else "GET" for _, body in tap.requests)


def held_back(tap: Tap, nth: int) -> threading.Event:
    """Hold back the request of that number, counted from now on, until the event is set."""
    landing = threading.Event()
    tap.stop_before(nth, lambda: landing.wait(PATIENCE))
    return landing


def lock_at(endpoint: str, timeout: float = 10.0) -> ConditionalLockService:
    """A client of the lock whose clock stays at its beginning."""
    bucket = Bucket(lock_settings("s3", [endpoint], timeout=timeout))
    return service(bucket, SECOND, "", {}, clock=lambda: 0)


def taken_over(own: ConditionalLockService, other: ConditionalLockService, resource: str) -> None:
    """Let another client take the lock over, once its lease has ended by that client's clock."""
    own.try_lock(resource, "0-1")
    other._clock = lambda: 2 * SECOND
    assert other.try_lock(resource, "1-1")


def forgets(own: ConditionalLockService, _other: ConditionalLockService, resource: str) -> None:
    """Hold the lock, after a PUT that got no answer."""
    own.try_lock(resource, "0-1")
    own._held.clear()


LOCK_CALLS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "a grant": (lambda *_: None, "try_lock", "GET PUT"),
    "a lock that is taken": (lambda _, other, r0: other.try_lock(r0, "1-1"), "try_lock", "GET"),
    "a renewal": (lambda own, _, r0: own.try_lock(r0, "0-1"), "renew", "PUT"),
    "a renewal after an unknown one": (forgets, "renew", "GET PUT"),
    "a renewal of a lost lock": (taken_over, "renew", "PUT"),
    "a release": (lambda own, _, r0: own.try_lock(r0, "0-1"), "release", "PUT"),
    "a release after an unknown renewal": (forgets, "release", "GET PUT"),
    "a release of a lost lock": (taken_over, "release", "PUT GET"),
}
"""By name: what came before, the call, and its requests."""


@pytest.mark.parametrize("call", LOCK_CALLS)
def test_a_call_of_the_lock_sends_these_requests(
    tap: Tap, s3_endpoint: str, resource: str, call: str
) -> None:
    before, name, expected = LOCK_CALLS[call]
    with closing(lock_at(tap.endpoints[0])) as own, closing(lock_at(s3_endpoint)) as other:
        before(own, other, resource)
        tap.requests.clear()

        more = () if name == "try_lock" else ("0-1",)
        with suppress(NotApplied):
            getattr(own, name)(resource, "0-1", *more)

    assert methods(tap) == expected


def test_clients_use_the_gateways_in_turn(s3_endpoint: str, resource: str) -> None:
    with closing(Tap("s3", [s3_endpoint] * 2)) as tap, lock_clients() as open_one:
        for client in range(3):
            lock, _ = open_one("s3", tap.endpoints, client)
            lock.acquire(resource, f"{client}-1")
            lock.release(resource, f"{client}-1")

    assert [gateway for gateway, _ in tap.requests] == [0, 0, 0, 1, 1, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("fencing", "token", "expected"),
    [
        ("none", 1, "PUT"),
        ("if-match", 3, "GET PUT"),
        ("if-match", 1, "GET"),
        ("epoch-object", 3, "GET PUT PUT"),
        ("epoch-object", 1, "GET"),
    ],
)
def test_a_write_sends_these_requests(
    tap: Tap, resource: str, fencing: str, token: int, expected: str
) -> None:
    with storage_clients("s3", tap.endpoints, fencing=fencing) as open_one:
        storage = open_one()
        storage.write(resource, 2, "first", nothing)
        tap.requests.clear()

        with suppress(Stale):
            storage.write(resource, token, "next", nothing)

    assert methods(tap) == expected


def test_a_put_to_a_stopped_server_is_unknown_and_lands_later(
    s3_server: Cluster, tap: Tap, s3_endpoint: str, resource: str
) -> None:
    with storage_clients("s3", tap.endpoints, fencing="none", timeout=1.0) as open_one:
        storage = open_one()
        storage.read(resource)

        with frozen(s3_server, "s3"), pytest.raises(Unknown):
            storage.write(resource, 1, "late", nothing)

    assert methods(tap) == "GET PUT"
    assert wait_for(lambda: commits_of("s3", [s3_endpoint], resource) == [(1, "late")])


@pytest.mark.parametrize(
    ("fencing", "nth", "log"), [("none", 1, [(2, "newer"), (1, "late")]), ("if-match", 2, [(2, "newer")])]
)
def test_a_put_that_lands_after_a_newer_write_needs_a_condition(
    tap: Tap, s3_endpoint: str, resource: str, fencing: str, nth: int, log: list[tuple[int, str]]
) -> None:
    landing = held_back(tap, nth)
    late = storage_clients("s3", tap.endpoints, fencing=fencing, timeout=1.0)
    with late as open_one, pytest.raises(Unknown):
        open_one().write(resource, 1, "late", nothing)
    with storage_clients("s3", [s3_endpoint], fencing=fencing) as open_one:
        open_one().write(resource, 2, "newer", nothing)

    landing.set()
    tap.drain(PATIENCE)

    assert commits_of("s3", [s3_endpoint], resource) == log


def test_a_renewal_that_lands_after_a_takeover_is_refused(tap: Tap, s3_endpoint: str, resource: str) -> None:
    with closing(lock_at(tap.endpoints[0], timeout=1.0)) as own, closing(lock_at(s3_endpoint)) as other:
        own.try_lock(resource, "0-1")
        landing = held_back(tap, 1)
        with pytest.raises(Unknown):
            own.renew(resource, "0-1", "0-1")
        own.close()
        other._clock = lambda: 2 * SECOND
        taken = other.try_lock(resource, "1-1")

        landing.set()
        tap.drain(PATIENCE)

        assert taken
        assert other.renew(resource, "1-1", "1-1") == SECOND

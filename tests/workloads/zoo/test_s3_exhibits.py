"""Each planted bug of a lock or a storage in S3, shown directly on a real server."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import systems
from tests.support.tap import Tap
from workloads.client import Stale, Unknown
from workloads.settings import host_and_port
from workloads.storages import load_kind

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # its servers run only in containers

LONG = 600 * systems.SECOND


@pytest.fixture
def open_lock(s3_endpoint: str) -> Iterator[Any]:
    with systems.lock_clients() as open_one:
        common: dict[str, Any] = {"ttl": LONG, "timeout": 5.0}
        yield lambda kind, client=0, **more: open_one(kind, [s3_endpoint], client, **common | more)[0]


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [("workloads.zoo.release_by_delete:ReleaseByDelete", [1, 1]), ("s3", [1, 2])],
    ids=["bug", "twin"],
)
def test_an_epoch_that_a_release_deletes_starts_again(
    open_lock: Any, resource: str, kind: str, tokens: list[int]
) -> None:
    lock = open_lock(kind)
    granted = []
    for owner in ("0-1", "0-2"):
        granted.append(lock.acquire(resource, owner).token)
        lock.release(resource, owner)

    assert granted == tokens


def test_a_renewal_of_the_same_bytes_does_not_keep_a_waiter_out(open_lock: Any, resource: str) -> None:
    kind = "workloads.zoo.renewal_without_a_nonce:RenewalWithoutANonce"
    first, second = (open_lock(kind, client, ttl=systems.SECOND) for client in range(2))
    held = first.acquire(resource, "0-1")
    called = time.monotonic_ns()

    taken = second.acquire(resource, "1-1")  # its holder renews it all the time

    assert (held.token, taken.token) == (1, 2)
    assert time.monotonic_ns() - called > systems.SECOND


def test_a_clock_an_hour_ahead_takes_a_lock_that_is_held(open_lock: Any, resource: str) -> None:
    kind = "workloads.zoo.clock_an_hour_ahead:ClockAnHourAhead"
    ahead, right = open_lock(kind, 0), open_lock(kind, 1)
    held = right.acquire(resource, "1-1")

    taken = ahead.acquire(resource, "0-1")

    assert taken.token == held.token + 1
    assert taken.attempt < held.attempt + held.ttl


def length_of_the_answer_to_a_read(s3_endpoint: str, resource: str) -> int:
    """How many bytes say that there is no such object."""
    with socket.create_connection(host_and_port(s3_endpoint)) as connection:
        connection.sendall(
            f"GET /fencepost/fencepost-register/{resource} HTTP/1.1\r\nHost: s3\r\n\r\n".encode()
        )
        answer = connection.recv(65536)
    assert answer.endswith(b"</Error>")
    return len(answer)


@pytest.mark.parametrize(
    ("kind", "is_called_stale"),
    [("workloads.zoo.conditional_write_retried:ConditionalWriteRetried", True), ("s3", False)],
    ids=["bug", "twin"],
)
def test_a_write_that_is_sent_again_is_refused_because_of_itself(
    s3_endpoint: str, resource: str, kind: str, is_called_stale: bool
) -> None:
    tap = Tap("s3", [s3_endpoint])
    tap.cut_after = length_of_the_answer_to_a_read(s3_endpoint, resource) + 1
    storage: Any = load_kind(kind).connect(
        systems.storage_settings(kind, tap.endpoints, fencing="if-match", timeout=30.0)
    )
    load_kind("s3").set_up(systems.storage_settings("s3", [s3_endpoint]), [])

    tap.stop_before(2, lambda: setattr(tap, "cut_after", sys.maxsize))
    with pytest.raises(Stale if is_called_stale else Unknown):
        storage.write(resource, 1, "landed", systems.nothing)
    tap.close()

    assert systems.commits_of("s3", [s3_endpoint], resource) == [(1, "landed")]


@pytest.mark.parametrize(
    ("fencing", "log"),
    [("epoch-object", [(2, "newer"), (1, "late")]), ("if-match", [(2, "newer")])],
    ids=["bug", "twin"],
)
def test_a_mark_in_another_object_is_out_of_date_once_it_is_raised(
    s3_endpoint: str, resource: str, monkeypatch: pytest.MonkeyPatch, fencing: str, log: list[tuple[int, str]]
) -> None:
    settings = systems.storage_settings("s3", [s3_endpoint], fencing=fencing)
    load_kind("s3").set_up(settings, [])
    slow, other = (load_kind("s3").connect(settings) for _ in range(2))
    put = slow._bucket._put  # type: ignore[attr-defined]  # of its clients, only that of S3 has one
    overtaken = iter([False, True] if fencing == "epoch-object" else [True])

    def late(*what: Any) -> Any:
        if next(overtaken, False):
            other.write(resource, 2, "newer", systems.nothing)
        return put(*what)

    monkeypatch.setattr(slow._bucket, "_put", late)  # type: ignore[attr-defined]  # as above
    try:
        slow.write(resource, 1, "late", systems.nothing)
    except Stale:
        assert fencing == "if-match"

    assert systems.commits_of("s3", [s3_endpoint], resource) == log

"""The lock in S3 on a real server: takeovers, renewals that got no answer, and releases that keep the epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.systems import SECOND, endpoints, lock_settings, names, started, storage_settings
from workloads.client import NotApplied
from workloads.locks import s3 as locks
from workloads.locks.s3 import S3LockService
from workloads.s3_bucket import Bucket

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # its servers run only in containers

LONG = 3_600 * SECOND


@pytest.fixture(scope="module")
def endpoint(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = ServerSpec(name="s3-1", system="s3")
    with started(docker_engine, tmp_path_factory.mktemp("run"), server) as cluster:
        yield endpoints(cluster, "s3")[0]


@pytest.fixture
def open_service(endpoint: str) -> Iterator[Any]:
    opened = []

    def open_one(ttl: int = LONG, now: int | None = None) -> S3LockService:
        """Return a service, by default with the wall clock."""
        clock = {} if now is None else {"clock": lambda: now}
        bucket = Bucket(storage_settings("s3", [endpoint]))
        opened.append(S3LockService(bucket, ttl, "", {}, **clock))
        return opened[-1]

    yield open_one
    for service in opened:
        service.close()


@pytest.fixture
def resource() -> str:
    return next(names)


def content(service: Any, resource: str) -> Any:
    return service._bucket.get(f"fencepost-lock/{resource}", service._bucket.deadline()).content


def test_a_release_keeps_the_epoch_for_the_next_grant(open_service: Any, resource: str) -> None:
    service = open_service()
    tokens = []
    for owner in ("0-1", "0-2", "0-3"):
        tokens.append(service.try_lock(resource, owner).token)
        service.release(resource, owner, owner)

    assert tokens == [1, 2, 3]
    freed = content(service, resource)
    assert (freed["owner"], freed["epoch"], freed["expiry"]) == ("", 3, 0)


@pytest.mark.parametrize(("now", "token"), [(10, None), (11, 2)], ids=["until its expiry", "after it"])
def test_a_held_lock_is_taken_over_once_it_has_expired(
    open_service: Any, resource: str, now: int, token: int | None
) -> None:
    open_service(ttl=10, now=1).try_lock(resource, "0-1")

    lease = open_service(ttl=10, now=now).try_lock(resource, "1-1")

    assert (lease and lease.token) == token


def test_of_two_clients_that_read_the_same_object_one_is_granted_the_lock(
    open_service: Any, resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, other = open_service(), open_service()
    read = slow._bucket.get

    def overtaken(*what: Any) -> Any:
        found = read(*what)
        assert other.try_lock(resource, "1-1").token == 1
        return found

    monkeypatch.setattr(slow._bucket, "get", overtaken)

    assert slow.try_lock(resource, "0-1") is None
    assert content(other, resource)["owner"] == "1-1"


def test_a_renewal_puts_a_later_expiry_with_the_same_epoch(open_service: Any, resource: str) -> None:
    service = open_service()
    service.try_lock(resource, "0-1")
    before = content(service, resource)

    assert service.renew(resource, "0-1", "0-1") == LONG

    after = content(service, resource)
    assert after["expiry"] > before["expiry"]
    assert after["epoch"] == before["epoch"]


def test_a_holder_reads_whose_the_lock_is_after_an_unknown_renewal(open_service: Any, resource: str) -> None:
    holder, other = open_service(ttl=1), open_service()
    holder.try_lock(resource, "0-1")
    holder._held.clear()
    assert holder.renew(resource, "0-1", "0-1") == 1
    holder._held.clear()
    other.try_lock(resource, "1-1")

    with pytest.raises(NotApplied, match="lease lost"):
        holder.renew(resource, "0-1", "0-1")
    assert not holder.release(resource, "0-1", "0-1")
    assert content(other, resource)["owner"] == "1-1"


def test_a_lost_lock_is_neither_renewed_nor_released(open_service: Any, resource: str) -> None:
    holder, other = open_service(ttl=1), open_service()
    holder.try_lock(resource, "0-1")
    other.try_lock(resource, "1-1")

    with pytest.raises(NotApplied, match="lease lost"):
        holder.renew(resource, "0-1", "0-1")
    assert not holder.release(resource, "0-1", "0-1")
    assert content(other, resource)["owner"] == "1-1"


def test_a_release_that_a_renewal_in_flight_overtakes_is_tried_again(
    open_service: Any, resource: str
) -> None:
    service = open_service()
    service.try_lock(resource, "0-1")
    before_the_renewal = dict(service._held)
    service.renew(resource, "0-1", "0-1")
    service._held.update(before_the_renewal)

    assert service.release(resource, "0-1", "0-1")
    assert content(service, resource)["owner"] == ""


def test_locks_are_removed_from_a_bucket_without_versions(open_service: Any, endpoint: str) -> None:
    settings = lock_settings("s3", [endpoint], names="gone")
    bucket = Bucket(settings)
    service = S3LockService(bucket, LONG, "gone", {})
    for name in ("r0", "r1"):
        service.try_lock(name, "0-1")
    open_service().try_lock("kept", "0-1")

    assert not bucket.keeps_versions()
    assert [locks.remove(settings) for _ in range(2)] == [2, 0]
    assert content(open_service(), "kept")["owner"] == "0-1"
    service.close()

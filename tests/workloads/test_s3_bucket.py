"""S3 on a real server: requests to a bucket with conditions and deadlines, and the lock in its objects."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from tests.support.attached_servers import aws_client
from tests.support.systems import SECOND, lock_settings, nothing, storage_settings
from tests.support.tap import Tap
from workloads.client import NotApplied, Unknown
from workloads.locks import s3 as locks
from workloads.locks.conditional import ConditionalLockService
from workloads.locks.s3 import service
from workloads.s3_bucket import Bucket
from workloads.settings import BucketName, S3StorageSettings
from workloads.stored_object import LostRaceError

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # its servers run only in containers


@pytest.fixture
def bucket(s3_endpoint: str) -> Iterator[Bucket]:
    opened = Bucket(storage_settings("s3", [s3_endpoint]))
    yield opened
    opened.close()


@pytest.fixture
def tap(s3_endpoint: str) -> Iterator[Tap]:
    opened = Tap("s3", [s3_endpoint])
    yield opened
    opened.answers_pass.set()
    opened.close()


@pytest.fixture
def open_tapped(tap: Tap) -> Iterator[Callable[..., Bucket]]:
    with ExitStack() as stack:

        def open_one(timeout: float = 10.0, host: str = "") -> Bucket:
            rest = {
                "fencing": "none",
                "policy": "strict",
                "timeout": timeout,
                "bucket": BucketName(host=host),
            }
            settings = S3StorageSettings(kind="s3", endpoints=tap.endpoints, **rest)
            return stack.enter_context(closing(Bucket(settings)))

        yield open_one


def test_an_object_that_exists_is_not_created(bucket: Bucket, resource: str) -> None:
    bucket.put(resource, {"number": 1}, bucket.deadline(), nothing)

    with pytest.raises(LostRaceError, match="PreconditionFailed"):
        bucket.replace(resource, None, {"number": 2}, bucket.deadline())


@pytest.mark.parametrize("is_there", [True, False])
def test_an_object_is_replaced_only_if_it_is_the_one_that_was_read(
    bucket: Bucket, resource: str, is_there: bool
) -> None:
    old = bucket.replace(f"{resource}/old", None, {"number": 1}, bucket.deadline())
    if is_there:
        bucket.replace(resource, None, {"number": 1}, bucket.deadline())

    with pytest.raises(LostRaceError, match="PreconditionFailed"):
        bucket.replace(resource, old, {"number": 2}, bucket.deadline())


def test_the_same_content_never_has_the_same_etag(bucket: Bucket, resource: str) -> None:
    first = bucket.replace(resource, None, {"number": 1}, bucket.deadline())
    second = bucket.replace(resource, first, {"number": 1}, bucket.deadline())

    assert second.version != first.version
    with pytest.raises(LostRaceError):
        bucket.replace(resource, first, {"number": 2}, bucket.deadline())


def test_a_request_names_the_users_server_and_waits_for_no_continue(
    tap: Tap, open_tapped: Callable[..., Bucket], resource: str
) -> None:
    bucket = open_tapped(host="s3.example:443")

    bucket.put(resource, {}, bucket.deadline(), nothing)

    (sent,) = tap._sent.values()
    assert b"\r\nHost: s3.example\r\n" in sent
    assert b"Expect" not in sent
    assert b"attempt=1; max=1" in sent


def test_a_request_that_gets_no_answer_is_sent_once(
    tap: Tap, open_tapped: Callable[..., Bucket], resource: str
) -> None:
    bucket = open_tapped(timeout=1.0)
    tap.answers_pass.clear()

    with pytest.raises(Unknown, match="Read timeout"):
        bucket.put(resource, {}, bucket.deadline(), nothing)

    assert len(tap.requests) == 1


def test_all_requests_of_a_call_share_its_deadline(
    tap: Tap, open_tapped: Callable[..., Bucket], resource: str
) -> None:
    timeout = 4.0
    bucket = open_tapped(timeout)
    tap.answers_pass.clear()
    threading.Timer(0.75 * timeout, tap.answers_pass.set).start()
    deadline, called = bucket.deadline(), time.monotonic()

    assert bucket.get(resource, deadline) is None
    with pytest.raises(Unknown):
        bucket.put(resource, {}, deadline, tap.answers_pass.clear)

    assert 0.75 * timeout < time.monotonic() - called < 1.5 * timeout
    with pytest.raises(NotApplied, match="no time was left"):
        bucket.get(resource, deadline)


@pytest.mark.parametrize("most", [20, 400, 900])
def test_a_truncated_object_is_unknown(
    bucket: Bucket, tap: Tap, open_tapped: Callable[..., Bucket], resource: str, most: int
) -> None:
    bucket.put(resource, {"text": 1000 * "x"}, bucket.deadline(), nothing)
    tap.cut_after = most

    with pytest.raises(Unknown):
        open_tapped().get(resource, bucket.deadline())


@pytest.mark.parametrize("most", [300, 500, 900])
def test_a_truncated_list_of_versions_is_unknown(
    bucket: Bucket, tap: Tap, open_tapped: Callable[..., Bucket], resource: str, most: int
) -> None:
    for number in range(5):
        bucket.put(f"{resource}/{number}", {}, bucket.deadline(), nothing)
    tap.cut_after = most

    with pytest.raises(Unknown):
        list(open_tapped().versions(resource))


def test_an_object_of_somebody_else_is_unknown(s3_endpoint: str, bucket: Bucket, resource: str) -> None:
    aws_client("s3", s3_endpoint).put_object(Bucket="fencepost", Key=resource, Body=b"not JSON")

    with pytest.raises(Unknown, match="not an object of Fencepost"):
        bucket.get(resource, bucket.deadline())


def test_the_users_proxies_and_profiles_are_ignored(
    s3_endpoint: str, resource: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")

    bucket = Bucket(storage_settings("s3", [s3_endpoint]))
    bucket.put(resource, {}, bucket.deadline(), nothing)

    assert bucket.get(resource, bucket.deadline()) is not None
    bucket.close()


LONG = 3_600 * SECOND


@pytest.fixture
def open_service(s3_endpoint: str) -> Iterator[Any]:
    with ExitStack() as stack:

        def open_one(ttl: int = LONG, now: int | None = None) -> ConditionalLockService:
            """Return a service, by default with the wall clock."""
            clock = {} if now is None else {"clock": lambda: now}
            bucket = Bucket(storage_settings("s3", [s3_endpoint]))
            return stack.enter_context(closing(service(bucket, ttl, "", {}, **clock)))

        yield open_one


def content(service: Any, resource: str) -> Any:
    return service._store.get(f"fencepost-lock/{resource}", service._store.deadline()).content


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
    read = slow._store.get

    def overtaken(*what: Any) -> Any:
        found = read(*what)
        assert other.try_lock(resource, "1-1").token == 1
        return found

    monkeypatch.setattr(slow._store, "get", overtaken)

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


def test_locks_are_removed_from_a_bucket_without_versions(open_service: Any, s3_endpoint: str) -> None:
    settings = lock_settings("s3", [s3_endpoint], names="gone")
    bucket = Bucket(settings)
    lock = service(bucket, LONG, "gone", {})
    for name in ("r0", "r1"):
        lock.try_lock(name, "0-1")
    open_service().try_lock("kept", "0-1")

    assert not bucket.keeps_versions()
    assert [locks.remove(settings) for _ in range(2)] == [2, 0]
    assert content(open_service(), "kept")["owner"] == "0-1"
    lock.close()

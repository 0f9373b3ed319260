"""Requests to an S3 bucket on a real server: conditions, deadlines, and answers that are cut."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from harness.engines.engine import Engine
from harness.network.topology import ServerSpec
from tests.support.attached_servers import aws_client
from tests.support.systems import endpoints, names, nothing, started, storage_settings
from tests.support.tap import Tap
from workloads.client import NotApplied, Unknown
from workloads.s3_bucket import Bucket, LostRaceError
from workloads.settings import BucketName, S3StorageSettings

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # its servers run only in containers


@pytest.fixture(scope="module")
def endpoint(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = ServerSpec(name="s3", system="s3")
    with started(docker_engine, tmp_path_factory.mktemp("run"), server) as cluster:
        yield endpoints(cluster, "s3")[0]


@pytest.fixture
def bucket(endpoint: str) -> Iterator[Bucket]:
    opened = Bucket(storage_settings("s3", [endpoint]))
    yield opened
    opened.close()


@pytest.fixture
def tap(endpoint: str) -> Iterator[Tap]:
    opened = Tap("s3", [endpoint])
    yield opened
    opened.answers_pass.set()
    opened.close()


@pytest.fixture
def open_tapped(tap: Tap) -> Iterator[Callable[..., Bucket]]:
    opened = []

    def open_one(timeout: float = 10.0, host: str = "") -> Bucket:
        where = BucketName(host=host)
        opened.append(
            Bucket(
                S3StorageSettings(
                    kind="s3",
                    endpoints=tap.endpoints,
                    fencing="none",
                    policy="strict",
                    timeout=timeout,
                    bucket=where,
                )
            )
        )
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


@pytest.fixture
def key() -> str:
    return next(names)


def test_an_object_that_exists_is_not_created(bucket: Bucket, key: str) -> None:
    bucket.put(key, {"number": 1}, bucket.deadline(), nothing)

    with pytest.raises(LostRaceError, match="PreconditionFailed"):
        bucket.replace(key, None, {"number": 2}, bucket.deadline())


@pytest.mark.parametrize("is_there", [True, False])
def test_an_object_is_replaced_only_if_it_is_the_one_that_was_read(
    bucket: Bucket, key: str, is_there: bool
) -> None:
    old = bucket.replace(f"{key}/old", None, {"number": 1}, bucket.deadline())
    if is_there:
        bucket.replace(key, None, {"number": 1}, bucket.deadline())

    with pytest.raises(LostRaceError, match="PreconditionFailed"):
        bucket.replace(key, old, {"number": 2}, bucket.deadline())


def test_the_same_content_never_has_the_same_etag(bucket: Bucket, key: str) -> None:
    first = bucket.replace(key, None, {"number": 1}, bucket.deadline())
    second = bucket.replace(key, first, {"number": 1}, bucket.deadline())

    assert second.etag != first.etag
    with pytest.raises(LostRaceError):
        bucket.replace(key, first, {"number": 2}, bucket.deadline())


def test_a_request_names_the_users_server_and_waits_for_no_continue(
    tap: Tap, open_tapped: Callable[..., Bucket], key: str
) -> None:
    bucket = open_tapped(host="s3.example:443")

    bucket.put(key, {}, bucket.deadline(), nothing)

    (sent,) = tap._sent.values()
    assert b"\r\nHost: s3.example\r\n" in sent
    assert b"Expect" not in sent
    assert b"attempt=1; max=1" in sent


def test_a_request_that_gets_no_answer_is_sent_once(
    tap: Tap, open_tapped: Callable[..., Bucket], key: str
) -> None:
    bucket = open_tapped(timeout=1.0)
    tap.answers_pass.clear()

    with pytest.raises(Unknown, match="Read timeout"):
        bucket.put(key, {}, bucket.deadline(), nothing)

    assert len(tap.requests) == 1


def test_all_requests_of_a_call_share_its_deadline(
    tap: Tap, open_tapped: Callable[..., Bucket], key: str
) -> None:
    timeout = 4.0
    bucket = open_tapped(timeout)
    tap.answers_pass.clear()
    threading.Timer(0.75 * timeout, tap.answers_pass.set).start()
    deadline, called = bucket.deadline(), time.monotonic()

    assert bucket.get(key, deadline) is None
    with pytest.raises(Unknown):
        bucket.put(key, {}, deadline, tap.answers_pass.clear)

    assert 0.75 * timeout < time.monotonic() - called < 1.5 * timeout
    with pytest.raises(NotApplied, match="no time was left"):
        bucket.get(key, deadline)


@pytest.mark.parametrize("most", [20, 400, 900])
def test_a_truncated_object_is_unknown(
    bucket: Bucket, tap: Tap, open_tapped: Callable[..., Bucket], key: str, most: int
) -> None:
    bucket.put(key, {"text": 1000 * "x"}, bucket.deadline(), nothing)
    tap.cut_after = most

    with pytest.raises(Unknown):
        open_tapped().get(key, bucket.deadline())


@pytest.mark.parametrize("most", [300, 500, 900])
def test_a_truncated_list_of_versions_is_unknown(
    bucket: Bucket, tap: Tap, open_tapped: Callable[..., Bucket], key: str, most: int
) -> None:
    for number in range(5):
        bucket.put(f"{key}/{number}", {}, bucket.deadline(), nothing)
    tap.cut_after = most

    with pytest.raises(Unknown):
        list(open_tapped().versions(key))


def test_an_object_of_somebody_else_is_unknown(endpoint: str, bucket: Bucket, key: str) -> None:
    aws_client("s3", endpoint).put_object(Bucket="fencepost", Key=key, Body=b"not JSON")

    with pytest.raises(Unknown, match="not an object of Fencepost"):
        bucket.get(key, bucket.deadline())


def test_the_users_proxies_and_profiles_are_ignored(
    endpoint: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")

    bucket = Bucket(storage_settings("s3", [endpoint]))
    bucket.put(key, {}, bucket.deadline(), nothing)

    assert bucket.get(key, bucket.deadline()) is not None
    bucket.close()

"""S3 on a real server: its fences, lost races, and the commit order of its versions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from harness.engines.engine import Cluster, Engine
from harness.network.probe import reply
from harness.network.topology import ServerSpec
from tests.support import systems
from tests.support.attached_servers import aws_client
from workloads.client import NotApplied, Stale, Unknown
from workloads.commit_room import CommitRoom
from workloads.settings import BucketName, S3StorageSettings, StorageSettings
from workloads.storages import s3 as storages

pytestmark = [pytest.mark.engine, pytest.mark.slow]  # its servers run only in containers

FENCINGS = ["if-match", "epoch-object"]


@pytest.fixture(scope="module")
def s3(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    server = ServerSpec(name="s3", system="s3")
    with systems.started(docker_engine, tmp_path_factory.mktemp("run"), server) as cluster:
        storages.set_up(systems.storage_settings("s3", systems.endpoints(cluster, "s3")), [])
        yield cluster


@pytest.fixture(scope="module")
def endpoint(s3: Cluster) -> str:
    return systems.endpoints(s3, "s3")[0]


@pytest.fixture
def open_storage(endpoint: str) -> Iterator[Any]:
    with systems.storage_clients("s3", [endpoint], fencing="if-match") as open_one:
        yield open_one


@pytest.fixture
def commits_of(endpoint: str) -> systems.CommitsOf:
    return partial(systems.commits_of, "s3", [endpoint])


def of_a_user(endpoint: str, bucket: str) -> StorageSettings:
    """The settings of a bucket that Fencepost did not create."""
    where = BucketName(name=bucket, host="s3.example:9000", is_ours=False)
    return S3StorageSettings(
        kind="s3", endpoints=(endpoint,), fencing="if-match", policy="strict", timeout=10.0, bucket=where
    )


def test_the_server_answers_over_its_edge(s3: Cluster) -> None:
    assert s3.environment()["servers"]["s3"]["version"] == "S3 on AmazonS3"
    assert reply(s3.edge(0, "s3"), "s3", within=2) is not None


@pytest.mark.parametrize("fencing", ["none", *FENCINGS])
def test_the_first_write_creates_the_object(
    open_storage: Any, resource: str, commits_of: systems.CommitsOf, fencing: str
) -> None:
    storage = open_storage(fencing)
    before = storage.read(resource)

    storage.write(resource, 1, "first", systems.nothing)

    assert before == (None, 0)
    assert storage.read(resource) == ("first", 1)
    assert commits_of(resource) == [(1, "first")]


@pytest.mark.parametrize(("policy", "refused"), [("strict", [6, 7]), ("inclusive", [6])])
@pytest.mark.parametrize("fencing", FENCINGS)
def test_the_mark_refuses_tokens_below_it_and_under_strict_its_own(
    open_storage: Any, resource: str, fencing: str, policy: str, refused: Sequence[int]
) -> None:
    storage = open_storage(fencing, policy=policy)
    storage.write(resource, 7, "first", systems.nothing)

    stale = []
    for token in (6, 7, 8):
        try:
            storage.write(resource, token, f"v{token}", systems.nothing)
        except Stale:
            stale.append(token)

    assert stale == refused
    assert storage.read(resource) == ("v8", 8)


def test_a_client_that_stops_after_the_epoch_object_overwrites_newer_data(
    open_storage: Any,
    resource: str,
    commits_of: systems.CommitsOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, other = open_storage("epoch-object"), open_storage("epoch-object")
    put = slow._bucket.put

    def overtaken(*what: Any) -> None:
        other.write(resource, 2, "newer", systems.nothing)
        put(*what)

    monkeypatch.setattr(slow._bucket, "put", overtaken)
    slow.write(resource, 1, "stale", systems.nothing)

    assert commits_of(resource) == [(2, "newer"), (1, "stale")]


@pytest.mark.parametrize(("between", "expected"), [(9, Stale), (5, Stale), (4, None)])
def test_what_a_lost_race_means_is_decided_by_the_new_mark(
    open_storage: Any,
    resource: str,
    commits_of: systems.CommitsOf,
    monkeypatch: pytest.MonkeyPatch,
    between: int,
    expected: type[Stale] | None,
) -> None:
    storage, other = open_storage(), open_storage()
    sent: list[float] = []
    overtake_after_the_read(
        storage, lambda: other.write(resource, between, "between", systems.nothing), monkeypatch
    )

    def write() -> None:
        storage.write(resource, 5, "own", lambda: sent.append(time.monotonic()))

    if expected:
        with pytest.raises(expected):
            write()
    else:
        write()

    own = [] if expected else [(5, "own")]
    assert commits_of(resource) == [(between, "between"), *own]
    assert len(sent) == 1 + len(own)


def overtake_after_the_read(
    storage: Any, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch, *, times: int = 1
) -> None:
    """Let another client act each time the storage has read an object, so often."""
    read = storage._bucket.get
    left = iter(range(times))

    def overtaken(*what: Any) -> Any:
        found = read(*what)
        if next(left, None) is not None:
            act()
        return found

    monkeypatch.setattr(storage._bucket, "get", overtaken)


def test_a_write_that_loses_every_race_ends_at_its_deadline(
    open_storage: Any,
    resource: str,
    commits_of: systems.CommitsOf,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    storage, other = open_storage(policy="inclusive", timeout=1.0), open_storage(policy="inclusive")
    overtake_after_the_read(
        storage, lambda: other.write(resource, 1, "other", systems.nothing), monkeypatch, times=10**6
    )

    with pytest.raises((NotApplied, Unknown), match=r"no time was left|[Tt]imed out|[Rr]ead timeout"):
        storage.write(resource, 2, "never", systems.nothing)  # unknown if its last PUT was sent just in time

    assert {token for token, _ in commits_of(resource)} == {1}


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_the_order_of_more_versions_than_a_page_has_is_read(
    open_storage: Any, resource: str, commits_of: systems.CommitsOf
) -> None:
    storage = open_storage("none")
    expected = [(number, f"v{number}") for number in range(1, 1_101)]
    for token, value in expected:
        storage.write(resource, token, value, systems.nothing)
    storage.write(f"{resource}/after", 1, "of another object", systems.nothing)

    assert commits_of(resource) == expected


def listing(*latest: bool, repeated: int = 1) -> Any:
    """A bucket whose only object has such versions, named by their places."""
    versions = [{"Key": "r0", "VersionId": str(place), "IsLatest": each} for place, each in enumerate(latest)]

    class Listed:
        def versions(self, _prefix: str) -> Iterator[list[dict[str, Any]]]:
            yield from repeated * [versions]

    return Listed()


@pytest.mark.parametrize(
    ("latest", "order"),
    [((False, False, True), ["0", "1", "2"]), ((True, False, False), ["2", "1", "0"]), ((True,), ["0"])],
    ids=["oldest first", "newest first", "one"],
)
def test_the_latest_version_shows_the_direction_of_the_list(
    latest: Sequence[bool], order: Sequence[str]
) -> None:
    assert list(storages._in_order(listing(*latest), "", CommitRoom(0))) == [("r0", order)]


@pytest.mark.parametrize("latest", [(False, True, False), (False, False), (True, False, True)])
def test_versions_in_no_order_are_unknown(latest: Sequence[bool]) -> None:
    with pytest.raises(Unknown, match="in no order"):
        list(storages._in_order(listing(*latest), "", CommitRoom(0)))


def test_pages_that_repeat_are_given_up() -> None:
    with pytest.raises(Unknown, match="repeat"):
        list(storages._in_order(listing(False, True, repeated=2), "", CommitRoom(0)))


def test_a_bucket_of_a_user_must_keep_versions(endpoint: str) -> None:
    client = aws_client("s3", endpoint)
    client.create_bucket(Bucket="of-a-user")
    settings = of_a_user(endpoint, "of-a-user")

    with pytest.raises(NotApplied, match="enable its versioning"):
        storages.set_up(settings, [])
    with pytest.raises(Unknown, match="kept no versions"):
        list(storages.committed(settings))
    assert not client.get_bucket_versioning(Bucket="of-a-user").get("Status")
    with pytest.raises(NotApplied, match="NoSuchBucket"):
        storages.connect(of_a_user(endpoint, "missing")).write("r0", 1, "lost", systems.nothing)


def test_everything_of_a_run_is_removed_with_its_delete_markers(endpoint: str) -> None:
    settings = systems.storage_settings("s3", [endpoint], fencing="epoch-object", names="gone")
    storage = storages.connect(settings)
    storage.write("r0", 1, "a", systems.nothing)
    storage.write("r0", 2, "b", systems.nothing)
    aws_client("s3", endpoint).delete_object(Bucket="fencepost", Key="fencepost-register/gone/r0")

    assert [storages.remove(settings) for _ in range(2)] == [5, 0]

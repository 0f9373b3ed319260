"""Locks in a JetStream bucket: what their tokens are, and what happens without the bucket, or a server."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import nats
import pytest

from harness.core.exit_codes import ExitCode
from harness.engines.engine import Cluster, Engine
from harness.network import nats_server
from tests.support import systems
from tests.support.challenged import run_until_challenged
from tests.support.command import run_target
from tests.support.http_servers import listening
from tests.support.repository import ROOT
from tests.support.waiting import wait_for
from workloads import locks
from workloads.client import NotApplied, Unknown
from workloads.locks.conditional import ConditionalLockService
from workloads.locks.nats import revision
from workloads.nats_bucket import KeyValueBucket, bucket_name
from workloads.settings import LockSettings
from workloads.stored_object import LostRaceError, StoredObject

TTL = 500_000_000  # ns


@pytest.mark.parametrize(
    ("names", "bucket"),
    [("", "fencepost"), ("20261122T221003-a1", "fencepost-20261122T221003-a1"), ("a.b/c", "fencepost-a-b-c")],
)
def test_a_bucket_is_named_after_its_run(names: str, bucket: str) -> None:
    assert bucket_name(names) == bucket


@pytest.mark.parametrize("greeting", [b"", b"INFO not json\r\n", b"+OK\r\n", b"-ERR 'no'\r\n"])
def test_a_server_that_is_no_nats_gets_no_request(greeting: bytes) -> None:
    def greet(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(greeting)
            while connection.recv(65536):
                pass

    with listening(greet) as at:
        settings = systems.lock_settings("nats", [at], timeout=0.5)
        with closing(KeyValueBucket(settings)) as bucket:
            called = time.monotonic()
            with pytest.raises(NotApplied, match="not connected"):
                bucket.get("r0", bucket.deadline())
            took = time.monotonic() - called

    assert took < 3


@pytest.fixture(scope="module")
def servers(docker_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    specs = [systems.server(f"nats-{number}", "nats") for number in (1, 2, 3)]
    with systems.started(docker_engine, tmp_path_factory.mktemp("run"), *specs) as cluster:
        yield cluster


@pytest.fixture
def settings(servers: Cluster, resource: str) -> LockSettings:
    """The settings of a run with a bucket of its own."""
    made = systems.lock_settings("nats", systems.endpoints(servers, "nats"), ttl=TTL, names=resource)
    locks.set_up(made)
    return made


@pytest.fixture
def bucket(settings: LockSettings) -> Iterator[KeyValueBucket]:
    with closing(KeyValueBucket(settings)) as opened:
        yield opened


@pytest.fixture
def open_lock(settings: LockSettings) -> Iterator[Any]:
    with systems.lock_clients() as open_one:
        yield lambda client=0: open_one("nats", settings.endpoints, client, ttl=TTL, names=settings.names)[0]


@pytest.mark.nightly
def test_a_key_is_created_and_updated_only_by_its_last_revision(bucket: KeyValueBucket) -> None:
    created = bucket.replace("r0", None, {"n": 1}, bucket.deadline())
    with pytest.raises(LostRaceError):
        bucket.replace("r0", None, {"n": 2}, bucket.deadline())
    updated = bucket.replace("r0", created, {"n": 3}, bucket.deadline())
    with pytest.raises(LostRaceError):
        bucket.replace("r0", created, {"n": 4}, bucket.deadline())

    assert bucket.get("r0", bucket.deadline()) == updated
    assert bucket.get("r1", bucket.deadline()) is None
    assert (created.version, updated.version) == ("1", "2")


@pytest.mark.nightly
def test_a_caller_may_have_an_event_loop_of_its_own(bucket: KeyValueBucket) -> None:
    async def within_a_loop() -> StoredObject:
        return bucket.replace("r0", None, {"n": 1}, bucket.deadline())

    assert asyncio.run(within_a_loop()) == bucket.get("r0", bucket.deadline())


@pytest.mark.nightly
def test_a_token_is_a_revision_which_all_keys_share(open_lock: Any) -> None:
    lock = open_lock()
    tokens: list[int] = []
    for resource in ("r0", "r1", "r0"):
        tokens.append(lock.acquire(resource, f"0-{len(tokens)}").token)
        lock.release(resource, f"0-{len(tokens) - 1}")

    assert tokens[0] == 1
    assert tokens == sorted(set(tokens))
    assert tokens[2] > 4  # a release is an update, too


@pytest.mark.nightly
def test_a_holder_whose_lease_was_taken_over_neither_renews_nor_releases(settings: LockSettings) -> None:
    with closing(KeyValueBucket(settings)) as first, closing(KeyValueBucket(settings)) as second:
        slow, other = (locks_in(each) for each in (first, second))
        slow.try_lock("r0", "0-1")
        assert wait_for(lambda: other.try_lock("r0", "1-1"))

        with pytest.raises(NotApplied, match="lease lost"):
            slow.renew("r0", "0-1", "0-1")
        assert not slow.release("r0", "0-1", "0-1")


def locks_in(bucket: KeyValueBucket) -> Any:
    return ConditionalLockService(bucket, TTL, {}, key=str, token=revision)


@pytest.mark.nightly
def test_no_client_makes_a_lost_bucket_again(settings: LockSettings, open_lock: Any) -> None:
    lock = open_lock()
    lock.acquire("r0", "0-1")

    assert locks.remove(settings) == 1

    with pytest.raises(NotApplied, match="stream not found"):
        open_lock(1).acquire("r0", "1-1")
    with closing(KeyValueBucket(settings)) as bucket, pytest.raises(Unknown, match="no response from stream"):
        bucket.replace("r0", None, {}, bucket.deadline())
    with pytest.raises(NotApplied, match="stream not found"):
        lock.revoke("r0", "2-1")
    assert locks.remove(settings) == 0


@pytest.mark.nightly
def test_a_client_of_a_killed_server_goes_on_with_the_next_one(docker_engine: Engine, tmp_path: Path) -> None:
    specs = [systems.server(f"nats-{number}", "nats") for number in (1, 2, 3)]
    with systems.started(docker_engine, tmp_path, *specs) as cluster:
        settings = systems.lock_settings("nats", systems.endpoints(cluster, "nats"), timeout=5)
        locks.set_up(settings)
        with systems.lock_clients() as open_one:
            lock, _ = open_one("nats", settings.endpoints, timeout=5)
            before = wait_for(lambda: granted(lock, "r0"))
            cluster.kill(["nats-1"])
            after = wait_for(lambda: granted(lock, "r1"))
        versions = {nats_server.version(each.address) for each in cluster.servers[1:]}

    assert after > before
    assert versions == {systems.RELEASES["nats"]}


def granted(lock: Any, resource: str) -> int | None:
    """The token, unless the servers are electing a leader."""
    try:
        token: int = lock.acquire(resource, "0-1").token
    except (NotApplied, Unknown):
        lock.reconnect()
        return None
    return token


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_a_run_on_servers_that_already_run_leaves_no_bucket(servers: Cluster, tmp_path: Path) -> None:
    at = systems.endpoints(servers, "nats")
    before = streams(at)
    named = f"servers = {json.dumps([str(each) for each in at])}"
    text = (
        (ROOT / "targets/nats-postgres.toml").read_text().replace('kind = "nats"', f'kind = "nats"\n{named}')
    )
    (tmp_path / "attached.toml").write_text(
        text.replace('name = "nats-postgres"', 'name = "attached"').replace('"postgres"', '"sqlite"')
    )

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "attached.toml", duration, engine="local"), seconds=8
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stdout + done.stderr
    assert streams(at) == before


def streams(at: list[str]) -> list[str]:
    """The names of the streams that the servers have."""

    async def asked() -> list[str]:
        client = await nats.connect(f"nats://{at[0]}")
        found = await client.jetstream().streams_info()
        await client.close()
        return sorted(str(stream.config.name) for stream in found)

    return asyncio.run(asked())

"""Removal of what a run left on servers that already ran."""

import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

from harness.core.errors import ServerNotReadyError
from harness.engines.engine import Cluster
from harness.network.ports import free_addresses
from harness.network.topology import Address, AttachedSpec
from harness.run.removal import Belongings, by_hand, decoded, encoded, failures_of, removed_at_end
from tests.support.systems import lock_settings, storage_settings
from tests.support.waiting import wait_for
from workloads.etcd_api import Connection
from workloads.settings import BucketName, S3StorageSettings

pytestmark = pytest.mark.engine

KILLED = """
import sys, time
from harness.run.removal import decoded, removed_at_end
with removed_at_end(decoded(sys.argv[1]), print):
    print("begun", flush=True)
    time.sleep(600)
"""
OURS, OTHERS = b"fencepost/run-1/r0", b"fencepost/run-10/r0"


@pytest.fixture
def belongings(servers: Cluster) -> Belongings:
    """Those of the run `run-1` in etcd, to which `run-10` has left a key, too."""
    etcd = servers.servers[0]
    spec = AttachedSpec(name="etcd-1", system="etcd", address=etcd.address, key="lock.servers")
    settings = lock_settings("etcd", (str(etcd.address),), names="run-1", token="create-revision")
    with closing(Connection(settings.endpoints, 5.0)) as connection:
        connection.call("KV/Put", key=OTHERS, value=b"x")
    return Belongings(servers=(spec,), settings=settings)


def leave_a_key(belongings: Belongings) -> None:
    with closing(Connection([str(belongings.servers[0].address)], 5.0)) as connection:
        connection.call("KV/Put", key=OURS, value=b"x")


def keys(belongings: Belongings) -> list[bytes]:
    with closing(Connection([str(belongings.servers[0].address)], 5.0)) as connection:
        found = connection.call("KV/Range", key=b"fencepost", range_end=b"fencepost0").kvs
    return [kv.key for kv in found]


@pytest.mark.slow
def test_only_what_the_run_left_is_removed(belongings: Belongings) -> None:
    with removed_at_end([belongings], print):
        leave_a_key(belongings)
        assert keys(belongings) == [OURS, OTHERS]

    assert keys(belongings) == [OTHERS]


@pytest.mark.slow
def test_it_is_removed_if_the_harness_is_killed(belongings: Belongings) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, encoded([belongings])], stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == "begun\n"
        leave_a_key(belongings)
        harness.send_signal(signal.SIGKILL)

        assert wait_for(lambda: keys(belongings) == [OTHERS])


def test_the_settings_of_a_kind_reach_the_process_that_removes() -> None:
    where = BucketName(name="mine", region="eu-west-1", host="s3.example:9000", is_ours=False)
    of_lock = lock_settings("redis", ("a:1",), names="run-1")
    of_storage = S3StorageSettings(
        kind="s3", endpoints=("a:1",), fencing="none", policy="strict", timeout=1.0, bucket=where
    )
    left = [Belongings(servers=(), settings=each) for each in (of_lock, of_storage)]

    assert decoded(encoded(left)) == left


@pytest.mark.parametrize(
    ("system", "of_storage", "of_lock"),
    [
        (
            "postgres",
            "DROP SCHEMA IF EXISTS run_20261123t215059_9d72f3 CASCADE",
            "DROP SCHEMA IF EXISTS run_20261123t215059_9d72f3_lock CASCADE",
        ),
        (
            "mariadb",
            "DROP DATABASE IF EXISTS fencepost_20261123t215059_9d72f3",
            "DROP DATABASE IF EXISTS fencepost_20261123t215059_9d72f3_lock",
        ),
    ],
)
def test_what_is_left_in_a_database_is_named_as_the_server_names_it(
    system: str, of_storage: str, of_lock: str
) -> None:
    names, server = (
        "20261123T215059-9d72f3",
        AttachedSpec(name=system, system=system, address=Address("a", 1)),
    )
    storage = storage_settings(system, ("a:1",), fencing="upsert", names=names)
    lock = lock_settings("sql-lease", ("a:1",), names=names)

    said = [by_hand(Belongings(servers=(server,), settings=each)) for each in (storage, lock)]

    assert said == [f"remove it with: {of_storage}", f"remove it with: {of_lock}"]


def test_keys_that_are_left_are_named_by_what_they_have_in_common() -> None:
    lock = lock_settings("etcd", ("a:1",), names="run-1", token="create-revision")

    said = by_hand(Belongings(servers=(), settings=lock))

    assert said == "remove everything there whose name begins with fencepost and contains run-1"


def test_each_failure_is_a_line_and_no_line_is_repeated() -> None:
    said = "print('redis at a:1'); print('postgres at b:2'); print('redis at a:1')"
    with subprocess.Popen([sys.executable, "-c", said], stdout=subprocess.PIPE) as process:
        assert failures_of(process) == ["redis at a:1", "postgres at b:2"]


def test_servers_that_do_not_answer_end_a_run_before_it_begins(belongings: Belongings) -> None:
    (nowhere,) = free_addresses(1)
    (spec,) = belongings.servers
    gone = Belongings(servers=(replace(spec, address=nowhere),), settings=belongings.settings)

    with (
        pytest.raises(ServerNotReadyError, match=f"lock.servers: {nowhere}: .*Connection refused"),
        removed_at_end([gone], print),
    ):
        pytest.fail("the block must not run")

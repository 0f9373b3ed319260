"""Proof of silence over edges, which takes proxies."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import pytest

from harness.core.errors import FaultNotInstalledError
from harness.nemesis.delay import delay
from harness.nemesis.edge_probes import ANSWER_TIMEOUT, Probes, silence_after
from harness.nemesis.partition import partition
from harness.nemesis.postgres_failover import postgres_failover
from harness.nemesis.redis_failover import redis_failover
from harness.nemesis.slow import slow
from harness.network.members import MEMBERS, keeps_silence, members_of
from harness.network.topology import Address, Link

ZOOKEEPER = members_of("zookeeper")
LINK = Link("zookeeper-1", "zookeeper-2")


@pytest.fixture
def silent_member() -> Iterator[Address]:
    """A member that hears nothing, so that it hangs up in the end."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up_late() -> None:
            connection, _ = listening.accept()
            over.wait(MEMBERS["zookeeper"].hangs_up)
            connection.close()

        thread = threading.Thread(target=hang_up_late)
        thread.start()
        yield Address(*listening.getsockname())
        over.set()
        thread.join()


def test_a_member_that_hangs_up_because_it_hears_nothing_is_silent(silent_member: Address) -> None:
    probes = Probes(kind="partition", target="lock:zookeeper-2", edges={LINK: (silent_member, ZOOKEEPER)})
    assert silence_after(ANSWER_TIMEOUT) > MEMBERS["zookeeper"].hangs_up

    assert probes.prove_silent(ANSWER_TIMEOUT) == keeps_silence(ZOOKEEPER) > ANSWER_TIMEOUT


BARE: Any = SimpleNamespace(servers=(), toxiproxy=None)


@pytest.mark.parametrize(
    "fault",
    [
        lambda: partition(BARE, 0, ["etcd-1"]),
        lambda: delay(BARE, 0, ["etcd-1"], print),
        lambda: slow(BARE, 0, ["etcd-1"], jitter=1, rate=None),
        lambda: redis_failover(BARE, "lock", LINK, range(2), None),
        lambda: postgres_failover(BARE, "storage", LINK, ((0, 1), ()), "killed", None),
    ],
    ids=["partition", "delay", "slow", "redis_failover", "postgres_failover"],
)
def test_without_proxies_an_edge_has_no_fault(fault: Callable[[], AbstractContextManager[object]]) -> None:
    with pytest.raises(FaultNotInstalledError, match="there are no proxies"), fault():
        pass

"""A storage's log without end: what is read of it has a limit."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from checkers.text.limits import MIB
from harness.files.run_folder import COMMITS, RunFolder
from tests.support.endless_redis import VALUE, endless_redis
from tests.support.systems import storage_settings
from workloads.client import Unknown
from workloads.redis_connection import LimitedSocket
from workloads.storages import load_kind

BUFFERED = 16 * MIB  # what the sockets hold, and a page


def test_pages_of_redis_without_end_are_given_up(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "t")

    with endless_redis(in_one_answer=False) as server:
        commits = load_kind("redis").committed(storage_settings("redis", [server.endpoint]))
        assert commits is not None
        with pytest.raises(Unknown) as caught:
            folder.write_commits(commits)

    assert str(caught.value) == (
        "it has more than 16 MiB, the most for 0 bytes that the clients recorded;"
        " make sure that nothing else writes there"
    )
    assert not (folder.path / COMMITS).exists()
    assert server.sent * len(VALUE) < 16 * MIB + BUFFERED


@pytest.mark.slow
@pytest.mark.parametrize(("recorded", "most"), [(0, 16 * MIB), (MIB // 2, 18 * MIB)])
def test_one_answer_of_redis_without_end_is_given_up(recorded: int, most: int) -> None:
    with endless_redis(in_one_answer=True) as server:
        settings = replace(storage_settings("redis", [server.endpoint]), recorded=recorded)
        commits = load_kind("redis").committed(settings)
        assert commits is not None
        with pytest.raises(Unknown, match=f"the answer has more than {most // MIB} MiB$"):
            list(commits)

    assert server.sent * len(VALUE) < most + BUFFERED


@pytest.mark.parametrize(
    "read",
    [lambda near: near.recv(10), lambda near: near.recv_into(bytearray(10))],
    ids=["recv", "recv_into"],
)
def test_each_way_to_read_an_answer_is_counted(read: Callable[[LimitedSocket], object]) -> None:
    one, far = socket.socketpair()
    with LimitedSocket(fileno=one.detach()) as near, far:
        near.limit = 15
        far.sendall(bytes(20))

        read(near)
        with pytest.raises(redis.exceptions.ConnectionError, match="the answer has more than 15 bytes"):
            read(near)

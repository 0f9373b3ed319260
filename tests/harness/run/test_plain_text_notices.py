"""A run says at its beginning that a password goes to another machine in plain text."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from harness.core.events import Notice
from harness.engines.local import LocalEngine
from harness.run.runner import RunOptions, run
from harness.spec import load
from tests.support.http_servers import listening

TARGET = """
name = "far"
expect = "valid"
[lock]
kind = "redis"
servers = ["{at}"]
password_env = "SECRET"
[storage]
kind = "sqlite"
fencing = "conditional-update"
"""


@pytest.fixture
def far_redis() -> Iterator[str]:
    """The address of something that answers as Redis does, at an address that is not loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        try:
            route.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no network")
        host = route.getsockname()[0]

    def answer(connection: socket.socket) -> None:
        with connection:
            if connection.recv(100):
                connection.sendall(b"-NOAUTH Authentication required.\r\n")

    with listening(answer, host) as at:
        yield at


def test_a_run_says_at_its_beginning_that_a_password_can_be_read(
    far_redis: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "of redis")
    (tmp_path / "t.toml").write_text(TARGET.format(at=far_redis))

    with closing(run(load(tmp_path / "t.toml"), LocalEngine(), RunOptions(runs=tmp_path / "runs"))) as events:
        _, notice = islice(events, 2)

    assert isinstance(notice, Notice)
    assert f"the password goes to {far_redis} in plain text" in notice.text

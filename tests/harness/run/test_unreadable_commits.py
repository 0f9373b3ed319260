"""A storage whose order of writes cannot be read: its run has no verdict."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.network.ports import free_addresses
from harness.network.topology import Address
from harness.processes.supervisor import Supervisor
from tests.support.command import fencepost, run_target
from tests.support.endless_redis import endless_redis
from tests.support.repository import ROOT
from tests.support.scripts import wait_until_listening
from tests.support.selection import slow

EXAMPLE = ROOT / "examples/http-service"
SERVICE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import service
from tests.support.selection import slow
service.Storage.commits = lambda _storage, _asked: {answer}
service.main()
"""
"""The example's service, with another answer to that request."""


@contextmanager
def answering_commits(folder: Path, answer: str) -> Iterator[Address]:
    (address,) = free_addresses(1)
    source = SERVICE.format(answer=answer)
    supervisor = Supervisor(folder / "servers", folder / "logs", {})
    supervisor.make()
    try:
        options = ["--data", "data", "--policy", "strict", "--port", str(address.port)]
        wait_until_listening(
            supervisor.spawn("service", [sys.executable, "-c", source, str(EXAMPLE), *options])
        )
        yield address
    finally:
        supervisor.close()


def failed_run(folder: Path, *settings: str) -> str:
    """Run the example's target; what it says when it has no verdict."""
    waits = ("workload.duration=2s", "faults=[]", "workload.timeout=60s")
    done = run_target(folder, EXAMPLE / "http.toml", *settings, *waits)

    assert (done.returncode, done.stdout) == (3, "")
    assert not (folder / "runs/http/latest/verdict.json").exists()
    assert "judge what the clients saw with: fencepost recheck" in done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("{}", "missing required field `commits`"),
        *slow(
            ("{'commits': [], 'more': 'x' * 24 * 2**20}", "that the clients recorded; return only the writes")
        ),
    ],
    ids=["without the list", "too long"],
)
def test_a_run_whose_commits_cannot_be_read_has_no_verdict(tmp_path: Path, answer: str, why: str) -> None:
    with answering_commits(tmp_path, answer) as address:
        said = failed_run(tmp_path, f"lock.url=http://{address}", f"storage.url=http://{address}")

    assert "http: its order of writes could not be read: " in said
    assert why in said
    assert fencepost(tmp_path, "recheck", tmp_path / "runs/http/latest").returncode in {0, 2}


@pytest.mark.slow
def test_a_run_on_a_redis_whose_log_has_no_end_has_no_verdict(tmp_path: Path) -> None:
    storage = 'storage={{kind="redis", fencing="script", servers=["{}"]}}'

    with answering_commits(tmp_path, "{}") as address, endless_redis(in_one_answer=False) as server:
        said = failed_run(tmp_path, f"lock.url=http://{address}", storage.format(server.endpoint))

    assert "redis: its order of writes could not be read: it has more than 16." in said

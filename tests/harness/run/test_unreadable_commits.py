"""A service whose list of commits cannot be read: its run has no verdict."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.network.ports import free_addresses
from harness.processes.supervisor import Supervisor
from tests.support.command import fencepost, run_target
from tests.support.repository import ROOT
from tests.support.scripts import wait_until_listening

EXAMPLE = ROOT / "examples/http-service"
SERVICE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import service
service.Storage.commits = lambda _storage, _asked: {answer}
service.main()
"""
"""The example's service, with another answer to that request."""


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("{}", "missing required field `commits`"),
        ("{'commits': [], 'more': 'x' * 24 * 2**20}", "that the clients recorded; return only the writes"),
    ],
    ids=["without the list", "too long"],
)
def test_a_run_whose_commits_cannot_be_read_has_no_verdict(tmp_path: Path, answer: str, why: str) -> None:
    (address,) = free_addresses(1)
    source = SERVICE.format(answer=answer)
    supervisor = Supervisor(tmp_path / "servers", tmp_path / "logs", {})
    supervisor.make()
    try:
        command: list[str | Path] = [
            "-c",
            source,
            EXAMPLE,
            "--data",
            "data",
            "--policy",
            "strict",
            "--port",
            str(address.port),
        ]
        wait_until_listening(supervisor.spawn("service", [sys.executable, *command]))
        urls = (f"lock.url=http://{address}", f"storage.url=http://{address}")
        waits = ("workload.duration=2s", "faults=[]", "workload.timeout=60s")
        done = run_target(tmp_path, EXAMPLE / "http.toml", *urls, *waits)
    finally:
        supervisor.close()

    assert (done.returncode, done.stdout) == (3, "")
    assert "http: its order of writes could not be read: " in done.stderr
    assert why in done.stderr
    folder = tmp_path / "runs/http/latest"
    assert not (folder / "verdict.json").exists()
    assert "judge what the clients saw with: fencepost recheck" in done.stderr
    assert fencepost(tmp_path, "recheck", folder).returncode in {0, 2}

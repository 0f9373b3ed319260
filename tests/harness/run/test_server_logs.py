"""Runs that fail: the servers' logs are kept and quoted, and unreadable commits give no verdict."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from harness.core.errors import FaultNotInstalledError, InfrastructureError
from harness.files.logs import not_ready
from harness.files.run_folder import RunFolder
from harness.network.ports import free_addresses
from harness.network.topology import Address
from harness.processes.supervisor import Supervisor
from harness.run import deployment
from harness.run.server_logs import logs_kept_on_failure
from harness.spec import load
from tests.support.command import DEADLINE, fencepost, run_target, start
from tests.support.endless_redis import endless_redis
from tests.support.missing import need
from tests.support.repository import ROOT
from tests.support.scripts import wait_until_listening
from tests.support.selection import BOTH_ENGINES
from tests.support.waiting import PATIENCE, wait_for

LOG = "starting\nready\nout of memory"


@dataclass(frozen=True)
class Named:
    name: str
    address: Address
    patroni: Address | None = None


class Servers:
    """A cluster whose servers only log."""

    servers = (
        Named("etcd-1", Address("127.0.0.1", 2379)),
        Named("postgres", Address("127.0.0.1", 5432), Address("127.0.0.1", 8008)),
    )

    def logs(self) -> dict[str, str]:
        return {"etcd-1": "elected", "postgres": LOG, "toxiproxy": "listening"}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path, "target")


def raised_from(folder: RunFolder, error: BaseException, earlier: Any = ()) -> str:
    servers: Any = Servers()
    with pytest.raises(type(error)) as raised, logs_kept_on_failure(folder, servers, dict(earlier)):
        raise error
    return str(raised.value)


@pytest.mark.parametrize("error", [InfrastructureError("no"), KeyboardInterrupt(), ValueError("no")])
def test_any_failure_keeps_all_logs(folder: RunFolder, error: BaseException) -> None:
    raised_from(folder, error)

    assert {log.name: log.read_text() for log in (folder.path / "logs").iterdir()} == {
        "etcd-1.log": "elected",
        "postgres.log": LOG,
        "toxiproxy.log": "listening",
    }


def test_logs_are_kept_without_those_of_earlier_runs(folder: RunFolder) -> None:
    raised_from(folder, InfrastructureError("no"), {"postgres": "starting\nready\n"})

    assert (folder.path / "logs" / "postgres.log").read_text() == "out of memory"


@pytest.mark.parametrize(
    "error",
    [
        FaultNotInstalledError("end of the pause", "storage", "client 0 → postgres: no answer"),
        InfrastructureError("PostgreSQL at 127.0.0.1:5432: server closed the connection"),
        InfrastructureError("Patroni at 127.0.0.1:8008: /cluster: ReadTimeout"),
    ],
)
def test_an_error_that_names_a_server_has_its_log(folder: RunFolder, error: InfrastructureError) -> None:
    said = str(error)

    assert raised_from(folder, error) == (
        f"{said}\nlast log lines of postgres:\n  | starting\n  | ready\n  | out of memory"
    )


@pytest.mark.parametrize(
    "error",
    [
        not_ready("postgres", "is unhealthy", "shown already"),
        InfrastructureError("my-postgres-2 at 127.0.0.1:54321 does not answer"),
        ValueError("postgres"),
    ],
)
def test_other_errors_stay_as_they_are(folder: RunFolder, error: BaseException) -> None:
    said = str(error)

    assert raised_from(folder, error) == said


@pytest.fixture(params=BOTH_ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """One that can run the servers of redis-redis."""
    need(request.getfixturevalue(f"{request.param}_engine"), deployment.topology(load("redis-redis"), ()))
    return str(request.param)


@pytest.mark.slow
@pytest.mark.engine
def test_a_server_that_ends_during_a_run_ends_it_with_its_log(engine: str, tmp_path: Path) -> None:
    process = start("run", "redis-redis", "--engine", engine, "--set", "workload.duration=600s", cwd=tmp_path)
    folder = tmp_path / "runs" / "redis-redis" / "latest"
    assert wait_for((folder / "plan.json").exists, 2 * PATIENCE)
    kill_storage(engine, folder.resolve().name, process.pid)

    _, said = process.communicate(timeout=DEADLINE)

    ended = "was killed (status 137), perhaps" if engine == "docker" else "ended with SIGKILL;"
    assert process.returncode == 3
    assert f"infrastructure failure: redis-storage {ended}" in said
    assert "; its last log lines:\n  " in said
    kept = [folder / "logs" / f"{server}.log" for server in ("redis-1", "redis-storage")]
    assert all("Ready to accept connections" in log.read_text() for log in kept)
    assert "redis-storage.log" in (folder / "report.html").read_text()


def kill_storage(engine: str, run_id: str, harness: int) -> None:
    if engine == "docker":
        labels = (f"label=fencepost={run_id}", "label=com.docker.compose.service=redis-storage")
        command = ["docker", "ps", "-q", *(word for label in labels for word in ("--filter", label))]
        container = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        subprocess.run(["docker", "kill", *container], capture_output=True, check=True)
        return
    of_storage = next(process for process in servers_of(harness) if "redis-storage" in process.cwd())
    of_storage.kill()


def servers_of(harness: int) -> Iterator[psutil.Process]:
    children = psutil.Process(harness).children(recursive=True)
    return (process for process in children if "redis-server" in process.name())


EXAMPLE = ROOT / "examples/http-service"
SERVICE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import service
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("{}", "missing required field `commits`"),
        ("{'commits': [], 'more': 'x' * 24 * 2**20}", "that the clients recorded; return only the writes"),
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

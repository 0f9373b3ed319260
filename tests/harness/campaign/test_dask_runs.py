"""Real runs on Dask workers: killed and interrupted ones, and on a cluster that speaks TLS alone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen
from typing import Any

import psutil
import pytest

from harness.spec.reading import zoo
from tests.support.certificates import Certificates, certified
from tests.support.command import DEADLINE, start
from tests.support.dask_cluster import two_workers, workers
from tests.support.waiting import PATIENCE, wait_for

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("default"),  # Dask's own
    pytest.mark.skipif(find_spec("distributed") is None, reason="no Dask: requirements-dask.lock"),
]


@pytest.fixture
def cluster() -> Iterator[Any]:
    with two_workers() as made:
        yield made


@pytest.fixture
def nights(tmp_path: Path) -> Path:
    return tmp_path / "nights/real"


def started(cluster: Any, folder: Path, duration: str) -> Popen[Any]:
    """A campaign of two cells in progress."""
    targets = [str(zoo()[bug]) for bug in ("equality-fence", "check-then-write")]
    (folder / "real.toml").write_text(
        f'name = "real"\nseeds = [7]\ncanary = false\nset = ["workload.duration={duration}"]\n'
        f"[[cells]]\ntargets = {json.dumps(targets)}\n"
    )
    return start(
        "campaign", "--engine", "local", "--dask", cluster.scheduler_address, "real.toml", cwd=folder
    )


def has_clients(worker: psutil.Process) -> bool:
    """Has the run of a worker recorded what its clients did?"""
    opened = [file for each in worker.children(recursive=True) for file in files_of(each)]
    return any(file.match("events/client-*.jsonl") and file.stat().st_size for file in opened)


def files_of(process: psutil.Process) -> list[Path]:
    try:
        return [Path(each.path) for each in process.open_files()]
    except psutil.Error:  # it has ended
        return []


def runs_of(worker: psutil.Process) -> list[psutil.Process]:
    """The runs in progress on a worker."""
    return [each for each in worker.children(recursive=True) if {"campaign", "worker"} <= set(words_of(each))]


def words_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:  # it has ended
        return []


def with_descendants(runs: list[psutil.Process]) -> list[psutil.Process]:
    """Some runs, with their clients and servers."""
    return [each for run in runs for each in (run, *run.children(recursive=True))]


def end(process: Popen[Any]) -> Any:
    process.kill()
    return process.communicate()


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.engine
@pytest.mark.nightly
def test_an_interruption_ends_the_runs_on_the_workers(cluster: Any, tmp_path: Path, nights: Path) -> None:
    process = started(cluster, tmp_path, "600s")
    assert wait_for(lambda: all(map(has_clients, workers(cluster))), 2 * PATIENCE), end(process)
    left = with_descendants([run for worker in workers(cluster) for run in runs_of(worker)])

    os.kill(process.pid, signal.SIGTERM)
    stdout, stderr = process.communicate(timeout=DEADLINE)

    assert process.returncode == 130, stdout + stderr
    assert wait_for(lambda: not alive(left)), alive(left)
    verdicts = [json.loads(file.read_bytes()) for file in nights.glob("2*/runs/*/2*/verdict.json")]
    assert len(verdicts) == 2
    assert all(verdict["interrupted"] for verdict in verdicts)


@pytest.mark.engine
@pytest.mark.nightly
def test_a_run_of_a_killed_worker_is_made_once_elsewhere(cluster: Any, tmp_path: Path, nights: Path) -> None:
    process = started(cluster, tmp_path, "16s")
    busy = wait_for(lambda: list(filter(has_clients, workers(cluster))), 2 * PATIENCE)
    assert busy, end(process)
    killed = busy[0]
    left = with_descendants(runs_of(killed))

    killed.kill()
    stdout, stderr = process.communicate(timeout=DEADLINE)

    assert process.returncode == 0, stdout + stderr
    (document,) = [json.loads(file.read_bytes()) for file in nights.glob("2*/campaign.json")]
    assert {cell["name"]: len(cell["runs"]) for cell in document["cells"]} == {
        "equality-fence": 1,
        "check-then-write": 1,
    }
    assert len(list(nights.glob("2*/runs/*/2*/verdict.json"))) == 2
    assert len(list(nights.glob("2*/logs/*.log"))) == 2
    assert wait_for(lambda: not alive(left)), alive(left)
    assert not any(map(runs_of, workers(cluster)))


TLS = "DASK_DISTRIBUTED__COMM__TLS__"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certified(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def scheduler(certificates: Certificates, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a scheduler with one worker, each a process of its own."""
    folder = tmp_path_factory.mktemp("dask")
    where = folder / "scheduler.json"
    files = [
        f"--tls-ca-file={certificates.authority}",
        f"--tls-cert={certificates.certificate}",
        f"--tls-key={certificates.key}",
    ]
    listening = ["--protocol=tls", "--host=127.0.0.1", "--port=0", "--no-dashboard"]
    with ExitStack() as stack:
        _begun(stack, folder, "scheduler", *listening, f"--scheduler-file={where}", *files)
        assert wait_for(lambda: _is_written(where), DEADLINE), (folder / "scheduler.log").read_text()
        address = json.loads(where.read_bytes())["address"]
        one = ["--nthreads=1", "--resources=engine=1", "--no-dashboard", "--host=127.0.0.1"]
        _begun(stack, folder, "worker", address, *one, *files)
        log = folder / "worker.log"
        assert wait_for(lambda: "Registered to" in log.read_text(), DEADLINE), log.read_text()
        yield address


def _is_written(file: Path) -> bool:
    return file.exists() and file.read_text().rstrip().endswith("}")


def _begun(stack: ExitStack, folder: Path, *words: str) -> None:
    log = stack.enter_context((folder / f"{words[0]}.log").open("wb"))
    command = [str(Path(sys.executable).parent / "dask"), *words]
    process = stack.enter_context(subprocess.Popen(command, cwd=folder, stdout=log, stderr=log))
    stack.callback(process.terminate)


@pytest.fixture
def with_certificate(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{TLS}CA_FILE", str(certificates.authority))
    monkeypatch.setenv(f"{TLS}CLIENT__CERT", str(certificates.certificate))
    monkeypatch.setenv(f"{TLS}CLIENT__KEY", str(certificates.key))
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION", "true")


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.usefixtures("with_certificate", "local_engine")
def test_a_campaign_runs_on_a_cluster_that_speaks_tls(scheduler: str, tmp_path: Path) -> None:
    target = str(zoo()["equality-fence"])
    (tmp_path / "real.toml").write_text(
        f'name = "real"\nseeds = [7]\ncanary = false\nset = ["workload.duration=8s"]\n'
        f"[[cells]]\ntargets = {json.dumps([target])}\n"
    )
    assert scheduler.startswith("tls://")

    done = start("campaign", "--engine", "local", "--dask", scheduler, "real.toml", cwd=tmp_path)
    stdout, stderr = done.communicate(timeout=DEADLINE)

    assert done.returncode == 0, stdout + stderr
    assert list(tmp_path.glob("nights/real/2*/runs/*/2*/history.jsonl"))


@pytest.mark.nightly
@pytest.mark.usefixtures("with_certificate")
def test_a_cluster_without_tls_is_refused_where_encryption_is_required(tmp_path: Path) -> None:
    assert "encryption required" in _said(tmp_path, "tcp://127.0.0.1:9")


@pytest.mark.nightly
def test_a_cluster_that_speaks_tls_is_refused_without_a_certificate(scheduler: str, tmp_path: Path) -> None:
    assert "distributed.comm.tls" in _said(tmp_path, scheduler)


def _said(folder: Path, scheduler: str) -> Any:
    """What a new process says, because Dask reads its settings once."""
    script = (
        "from harness.campaign.dask_executor import DaskExecutor\n"
        "import os\n"
        "from harness.core.errors import ConfigurationError\n"
        f"try: DaskExecutor({scheduler!r})\n"
        "except ConfigurationError as error: print(error, flush=True)\n"
        "os._exit(0)\n"  # not after the 30 s in which a client that never connected closes
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

"""A campaign on a Dask cluster that speaks TLS alone: scheduler and worker as the documentation starts them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from harness.spec.reading import zoo
from tests.support.certificates import Certificates, certified
from tests.support.command import DEADLINE, start
from tests.support.waiting import wait_for

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("default"),  # Dask's own
    pytest.mark.skipif(find_spec("distributed") is None, reason="no Dask: requirements-dask.lock"),
]

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
        _started(stack, folder, "scheduler", *listening, f"--scheduler-file={where}", *files)
        assert wait_for(lambda: _is_written(where), DEADLINE), (folder / "scheduler.log").read_text()
        address = json.loads(where.read_bytes())["address"]
        one = ["--nthreads=1", "--resources=engine=1", "--no-dashboard", "--host=127.0.0.1"]
        _started(stack, folder, "worker", address, *one, *files)
        log = folder / "worker.log"
        assert wait_for(lambda: "Registered to" in log.read_text(), DEADLINE), log.read_text()
        yield address


def _is_written(file: Path) -> bool:
    return file.exists() and file.read_text().rstrip().endswith("}")


def _started(stack: ExitStack, folder: Path, *words: str) -> None:
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


@pytest.mark.usefixtures("with_certificate")
def test_a_cluster_without_tls_is_refused_where_encryption_is_required(tmp_path: Path) -> None:
    assert "encryption required" in _said(tmp_path, "tcp://127.0.0.1:9")


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

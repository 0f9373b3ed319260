"""Real runs on Dask workers: a killed worker's run is made elsewhere, and an interruption reaches them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from subprocess import Popen
from typing import Any

import psutil
import pytest

from harness.spec.reading import zoo
from tests.support.command import DEADLINE, start
from tests.support.dask_cluster import two_workers, workers
from tests.support.waiting import PATIENCE, wait_for

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.timeout(600),
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

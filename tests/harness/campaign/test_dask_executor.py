"""Runs on Dask workers: their folders come back, and what a killed worker had is made once more elsewhere."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest

from harness.campaign import campaign as campaigns
from harness.campaign.campaign import Campaign
from harness.campaign.dask_executor import DaskExecutor
from harness.campaign.night import Night
from harness.core.errors import ConfigurationError, InfrastructureError
from tests.support.campaign_runs import job, plan
from tests.support.dask_cluster import two_workers
from tests.support.dask_runs import FIRST, MADE, make

SOURCE = 'name = "nightly"\ncanary = false\n[[cells]]\ntargets = ["a"]\n'
JOBS = tuple(job(name) for name in ("a", "b", "c", "d"))
needs_dask = pytest.mark.skipif(
    find_spec("distributed") is None, reason="Dask is not installed: requirements-dask.lock"
)


@pytest.fixture
def cluster() -> Iterator[Any]:
    with two_workers() as made:
        yield made


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """A night whose cells tell the workers which folder the test looks at."""
    planned = plan(*JOBS)
    cells = [replace(cell, source=f"# {tmp_path}\n{cell.source}") for cell in planned.cells]
    return Night.create(tmp_path / "nights", msgspec.structs.replace(planned, cells=cells), SOURCE)


@needs_dask
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("default")  # Dask's own
def test_runs_of_a_killed_worker_are_made_again_and_reported_once(
    cluster: Any, night: Night, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaigns, "execute", make)
    executor = DaskExecutor(cluster.scheduler_address)
    work = Campaign(
        night,
        workers=executor.workers,
        budget=None,
        fail_fast=False,
        notify=lambda _event: None,
        executor=executor,
    )
    killer = Thread(target=_kill_the_first, args=(tmp_path,))
    killer.start()

    left = work.run()
    killer.join()

    calls = [line.split() for line in (tmp_path / MADE).read_text().splitlines()]
    (killed,) = [call for call in calls if call[2] == "True"]
    assert executor.workers == 2
    assert left == ()
    assert sorted(each.job.id for each in night.finished()) == sorted(each.id for each in JOBS)
    assert len([call for call in calls if call[0] == killed[0]]) == 2
    assert {call[1] for call in calls if call[0] == killed[0]} > {killed[1]}
    for each in night.finished():
        assert each.exit_code == 0
        assert each.folder
        assert (night.path / each.folder / "history.jsonl").read_text() == each.job.id
        assert Path(str(each.verdict and each.verdict["history"])).is_relative_to(night.path)
        assert (night.path / "logs" / f"{each.job.id}.log").read_text() == "a log\n"


def _kill_the_first(folder: Path) -> None:
    """Kill the worker whose run waits."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        made = folder / MADE
        lines = made.read_text().splitlines() if (folder / FIRST).exists() and made.exists() else []
        for line in lines:
            if line.endswith(" True"):
                os.kill(int(line.split()[1]), signal.SIGKILL)
                return
        time.sleep(0.05)


@needs_dask
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("default")  # Dask's own
def test_workers_without_an_engine_are_refused() -> None:
    local: Any = import_module("distributed").LocalCluster
    with (
        local(n_workers=1, processes=False, dashboard_address=None) as cluster,
        pytest.raises(InfrastructureError, match=r"has the resource engine: start each with `dask worker"),
    ):
        DaskExecutor(cluster.scheduler_address)


def test_without_dask_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(ConfigurationError, match=r"install fencepost\[dask\]"):
        DaskExecutor("tcp://127.0.0.1:1")

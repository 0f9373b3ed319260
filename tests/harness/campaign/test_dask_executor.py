"""Runs on Dask workers: their folders come back, and what a killed worker had is made once more elsewhere."""

from __future__ import annotations

import io
import os
import signal
import sys
import tarfile
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
from harness.campaign.campaign import CampaignRunner
from harness.campaign.dask_executor import DaskExecutor, _Delivery, _unpacked
from harness.campaign.night import Night
from harness.core.errors import ConfigurationError, HistoryError, InfrastructureError
from tests.support.campaign_runs import finished, job, plan
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
    work = CampaignRunner(
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


def delivered(*members: tuple[str, str]) -> _Delivery:
    """What a worker sends: files by their names, each with its text; a name with an arrow is a link."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for name, text in members:
            member = tarfile.TarInfo(name.partition(" -> ")[0])
            if "->" in name:
                member.type, member.linkname = tarfile.SYMTYPE, name.partition(" -> ")[2]
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return _Delivery(finished=finished(job(), 3), files=packed.getvalue())


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../outside", "leads outside of its folder"),
        ("runs/../../outside", "leads outside of its folder"),
        ("{outside}", "leads outside of its folder"),
        ("runs/way/outside", "this is a symbolic link, and a folder is expected here"),
        ("plan.json", "exists and was not overwritten"),
    ],
)
def test_what_a_worker_sends_stays_in_the_night_and_replaces_nothing(
    night: Night, tmp_path: Path, name: str, why: str
) -> None:
    (night.path / "runs" / "way").symlink_to(tmp_path)
    before = {file: file.read_text() for file in tmp_path.rglob("*") if file.is_file()}

    with pytest.raises((ConfigurationError, HistoryError), match=why):
        _unpacked(delivered((name.format(outside=tmp_path / "outside"), "theirs")), night.path)

    assert {file: file.read_text() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_a_link_that_a_worker_sends_is_left_out(night: Night) -> None:
    _unpacked(delivered(("logs/a-1.log -> /etc/passwd", ""), ("logs/a-2.log", "a log\n")), night.path)

    assert [file.name for file in (night.path / "logs").iterdir()] == ["a-2.log"]


def test_without_dask_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(ConfigurationError, match=r"pip install '\.\[dask\]' in Fencepost's checkout"):
        DaskExecutor("tcp://127.0.0.1:1")

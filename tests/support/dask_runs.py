"""Runs of a Dask worker in the tests, without servers: the first one waits until it is killed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from harness.campaign.execution import LOGS, RUNS, Finished, Order
from tests.support.campaign_runs import finished, verdict

MADE = "made"  # one line a call: the run's id and the worker's process
FIRST = "first"  # exists once a run was chosen to wait


def make(order: Order) -> Finished:
    """Make a run, in the folder that the tests share with the workers by the cell's source."""
    source = (order.night / "targets" / f"{order.job.cell}.toml").read_text()
    shared = Path(source.splitlines()[0].removeprefix("# "))
    chosen = _is_first(shared)
    with (shared / MADE).open("a") as made:
        made.write(f"{order.job.id} {os.getpid()} {chosen}\n")
    if chosen:
        threading.Event().wait()
    folder = order.night / RUNS / order.job.cell / "20261122T030000-abcdef"
    folder.mkdir(parents=True)
    (folder / "history.jsonl").write_text(order.job.id)
    (order.night / LOGS / f"{order.job.id}.log").write_text("a log\n")
    document = verdict() | {"history": str(folder / "history.jsonl")}
    run = finished(order.job, 0, document)
    return Finished(
        job=run.job,
        exit_code=0,
        started=run.started,
        seconds=run.seconds,
        folder=str(folder.relative_to(order.night)),
        verdict=document,
    )


def _is_first(shared: Path) -> bool:
    try:
        (shared / FIRST).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True

"""Nights of a campaign that never ran, with a results file: for the page of a night."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harness.campaign import outputs
from harness.campaign.campaign_file import load
from harness.campaign.cells import CampaignCell, expand
from harness.campaign.execution import Finished
from harness.campaign.night import Night, NightPlan
from harness.campaign.results import Results
from harness.campaign.schedule import Job, jobs
from harness.core.exit_codes import ExitCode

SOURCE = """\
name = "nightly"
repeat = 2

[[matrix]]
lock = ["etcd", "redis", "zookeeper"]
storage = ["postgres:none", "postgres:conditional-update", "redis:none", "redis:script"]

[[matrix]]
lock = ["etcd"]
storage = ["postgres:none", "postgres:conditional-update"]
faults = ["kill-lock", "kill-storage", "partition-lock"]
"""
_STALE = (
    "Client {client} wrote '{client}-{number}.0' with token {number} to r0 after the storage had accepted"
    " '7-{later}.0' with the newer token {later}"
)
_LAST = datetime(2026, 11, 22, 3, tzinfo=UTC)
_BROKEN = "etcd-postgres-conditional-update-kill-storage"
_FLAKY = "redis-redis-script-pause"


def generate(folder: Path, *, nights: int, runs: int, seed: int = 1) -> Night:
    """Write `runs` runs over some nights into `folder`, with nights.db, and return the last night."""
    rng = random.Random(seed)
    file = folder / "nightly.toml"
    file.write_text(SOURCE, encoding="utf-8")
    cells = expand(load(file)).cells
    results = Results(folder / "nights.db")
    per_night = -(-runs // nights)
    for number in range(nights):
        started = _LAST - timedelta(days=nights - 1 - number)
        night = _night(folder / "nights", cells, started, per_night, rng)
        for finished in _runs(night.plan.jobs, started, number / nights, rng):
            _write_folder(night, finished)
            night.record(finished)
        outputs.write(night, results, allow_unknown=False)
    return night


def _night(
    nights: Path, cells: Sequence[CampaignCell], started: datetime, runs: int, rng: random.Random
) -> Night:
    made = jobs(cells, seeds=None, repeat=-(-runs // len(cells)), past={}, rng=rng)[:runs]
    plan = NightPlan(
        campaign="nightly",
        started=started.isoformat(timespec="seconds"),
        engine="docker",
        fencepost="0.1.0",
        git_commit="0123456789abcdef",
        tested_commit="fedcba9876543210-dirty",
        cells=list(cells),
        jobs=list(made),
    )
    return Night.create(nights, plan, SOURCE)


def _runs(planned: Sequence[Job], started: datetime, share: float, rng: random.Random) -> Iterator[Finished]:
    for job in planned:
        code = _exit_code(job.cell, share, rng)
        has_verdict = code != ExitCode.INFRASTRUCTURE
        yield Finished(
            job=job,
            exit_code=code,
            started=started.isoformat(timespec="seconds"),
            seconds=round(rng.uniform(27, 41), 3),
            folder=f"runs/{job.cell}/{job.id}" if has_verdict else None,
            verdict=_verdict(job.cell, code, rng) if has_verdict else None,
            message="" if has_verdict else "infrastructure failure: etcd-2 was not healthy after 30 s",
        )


def _exit_code(cell: str, share: float, rng: random.Random) -> ExitCode:
    """One cell breaks in the last third of the nights, one is flaky, and anything may go wrong rarely."""
    chance = rng.random()
    if (cell == _BROKEN and share > 2 / 3) or (cell == _FLAKY and chance > 3 / 4):
        return ExitCode.VIOLATION
    rare = {0: ExitCode.INFRASTRUCTURE, 1: ExitCode.UNKNOWN}
    return rare.get(int(chance * 100), ExitCode.AS_EXPECTED)


def _verdict(cell: str, code: ExitCode, rng: random.Random) -> dict[str, Any]:
    is_unfenced, attempted = "-none-" in cell, rng.randrange(4, 30)
    failed = code == ExitCode.VIOLATION
    found = failed or (is_unfenced and code == ExitCode.AS_EXPECTED)
    number = rng.randrange(1, 500)
    finding = {
        "anomaly": "stale-write",
        "resource": "r0",
        "summary": _STALE.format(client=rng.randrange(5), number=number, later=number + 1),
        "operations": [],
        "steps": [f"step {each} of the proof, in a sentence of the usual length" for each in range(1, 6)],
    }
    return {
        "schema": 1,
        "verdict": "invalid" if found else "unknown" if code == ExitCode.UNKNOWN else "valid",
        "expected": ["stale-write"] if is_unfenced else "valid",
        "as_expected": not failed,
        "reasons": ["no stale write was attempted"] if code == ExitCode.UNKNOWN else [],
        "anomalies": {},
        "coverage": {
            "stale_writes_attempted": attempted,
            "stale_writes_rejected": 0 if is_unfenced else attempted,
        },
        "checkers": [],
        "findings": [finding] if found else [],
        "counted": [],
        "interrupted": None,
    }


def _write_folder(night: Night, finished: Finished) -> None:
    if finished.folder:
        folder = night.path / finished.folder
        folder.mkdir(parents=True)
        (folder / "report.html").write_text("<!doctype html>", encoding="utf-8")

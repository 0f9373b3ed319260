"""Complete runs in which messages are delayed: unfenced storages accept them, fenced ones refuse them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.engines import local_toxiproxy
from harness.engines.engine import Engine
from tests.support.challenged import counted, run_until_challenged
from tests.support.command import run_target
from tests.support.selection import nightly

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SECONDS = 8


def run(engine: Engine, folder: Path, target: str, *settings: str) -> tuple[int, Any, Path]:
    """Run a target until it was challenged by a delay."""
    local_toxiproxy.provide(print)
    done = run_until_challenged(
        lambda duration: run_target(folder, target, duration, *settings, engine=engine.name),
        SECONDS,
        counted("delays", "stale_writes_attempted"),
    )
    return done.returncode, json.loads(done.stdout), folder / "runs" / target / "latest"


@pytest.mark.parametrize("what", ["delayed-write", *nightly("late-renewal")])
def test_an_unfenced_storage_accepts_a_stale_write(local_engine: Engine, tmp_path: Path, what: str) -> None:
    code, verdict, _ = run(local_engine, tmp_path, f"etcd-postgres-{what}-unfenced")

    assert (code, verdict["verdict"]) == (0, "invalid")
    assert verdict["anomalies"]["stale-write"] >= 1


@pytest.mark.parametrize("what", ["delayed-write", *nightly("late-renewal")])
def test_a_fenced_storage_rejects_every_stale_write(local_engine: Engine, tmp_path: Path, what: str) -> None:
    code, verdict, folder = run(local_engine, tmp_path, f"etcd-postgres-{what}")

    plan = json.loads((folder / "plan.json").read_text())
    assert (code, verdict["verdict"]) == (0, "valid")
    assert verdict["coverage"]["stale_writes_rejected"] >= 1
    assert verdict["coverage"]["delays"] == len(plan["faults"])
    assert all(each["requested"] < each["in_force"] < each["healed"] for each in plan["faults"])


def test_a_write_whose_client_gave_up_still_takes_effect(local_engine: Engine, tmp_path: Path) -> None:
    """The default timeout is shorter than the delay: the client reports it as unknown, and goes on."""
    code, verdict, folder = run(
        local_engine, tmp_path, "etcd-postgres-delayed-write-unfenced", "workload.timeout=1s"
    )

    events = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()[1:]]
    unknown = {event["value"] for event in events if (event["f"], event["type"]) == ("write", "info")}
    log = [json.loads(line)["value"] for line in (folder / "commits.jsonl").read_text().splitlines()]
    assert (code, verdict["verdict"]) == (0, "invalid")
    assert unknown & set(log)

"""Complete runs with kills of servers and faults on clients, judged by the storage's data afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.network.topology import ServerSpec, Topology
from tests.support.missing import need
from tests.support.selection import BOTH_ENGINES

pytestmark = pytest.mark.engine
SERVERS = Topology(
    servers=(ServerSpec(name="redis-1", system="redis"), ServerSpec(name="postgres", system="postgres")),
    clients=1,
    partitions=False,
)

FENCEPOST = Path(sys.executable).with_name("fencepost")
KILLED = """\
name = "killed"
expect = "valid"

[lock]
kind = "redis"

[storage]
kind = "postgres"
fencing = "conditional-update"

[workload]
duration = "9s"

[[faults]]
kind = "kill"
target = "storage"
every = "3s"
lasts = "500ms"

[[faults]]
kind = "kill"
target = "redis-1"
every = "3s"
lasts = "500ms"

[[faults]]
kind = "pause"
target = "holder"
at = "before-write"
until = "superseded"

[require]
kills = 2
stale_writes_attempted = 0
"""


@pytest.mark.parametrize("engine", BOTH_ENGINES)
def test_acknowledged_writes_survive_kills_of_both_sides(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    need(request.getfixturevalue(f"{engine}_engine"), SERVERS)
    (tmp_path / "killed.toml").write_text(KILLED)

    command = [FENCEPOST, "run", "killed.toml", "--engine", engine, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=110, check=False)

    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["verdict"] == "valid"
    assert verdict["coverage"]["kills"] >= 2
    folder = tmp_path / "runs" / "killed" / "latest"
    plan = json.loads((folder / "plan.json").read_text())
    kills = [fault for fault in plan["faults"] if fault["kind"] == "kill"]
    assert {fault["target"] for fault in kills} == {"storage", "lock:redis-1"}
    assert all(fault["requested"] <= fault["in_force"] < fault["healed"] for fault in kills)
    last = max(fault["in_force"] for fault in kills if fault["target"] == "storage")
    acknowledged = {
        event["value"]
        for event in events_of(folder / "history.jsonl")
        if (event["f"], event["type"]) == ("write", "ok") and event["time"] < last
    }
    assert acknowledged
    assert acknowledged <= {commit["value"] for commit in events_of(folder / "commits.jsonl")}


def events_of(file: Path) -> list[Any]:
    """Return the lines of a file without its header."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [line for line in lines if "fencepost" not in line]

"""Complete runs with faults on servers that begin while a holder is at a stop point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkers.history.reader import Op, read
from harness.core.exit_codes import ExitCode
from tests.support.challenged import run_until_challenged
from tests.support.command import run_target

pytestmark = pytest.mark.engine
AIMED = """\
name = "aimed"
expect = "valid"

[lock]
kind = "etcd"

[storage]
kind = "postgres"
fencing = "conditional-update"

[[faults]]
kind = "kill"
target = "lock:leader"
at = "write-sent"
every = "8s"
lasts = "1s"

[[faults]]
kind = "throttle"
target = "storage"
share = 0.05
at = "before-write"
every = "10s"
lasts = "1s"

[[faults]]
kind = "partition"
target = "etcd-2"
at = "before-write"
every = "12s"
lasts = "1s"

[require]
stale_writes_attempted = 0
"""


@pytest.mark.slow
@pytest.mark.usefixtures("docker_engine")
def test_faults_on_servers_begin_while_a_holder_is_at_their_stop_point(tmp_path: Path) -> None:
    (tmp_path / "aimed.toml").write_text(AIMED)
    folder = tmp_path / "runs/aimed/latest"

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "aimed.toml", duration, engine="docker"),
        seconds=30,
        was_challenged=lambda _verdict: {"kill", "partition", "throttle"} == {*aims_of(folder)},
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    assert aims_of(folder) == {"kill": "write-sent", "throttle": "before-write", "partition": "before-write"}
    kills = [fault["in_force"] for fault in faults_of(folder) if fault["kind"] == "kill"]
    assert all(any(is_open(write, kill) for write in writes_of(folder)) for kill in kills)
    assert all(fault["in_force"] < fault["healed"] for fault in faults_of(folder))


def faults_of(folder: Path) -> list[Any]:
    faults: list[Any] = json.loads((folder / "plan.json").read_text())["faults"]
    return faults


def aims_of(folder: Path) -> dict[str, str]:
    return {fault["kind"]: fault["at"] for fault in faults_of(folder)}


def writes_of(folder: Path) -> list[Op]:
    return [each for each in read(folder / "history.jsonl").operations if each.f == "write"]


def is_open(write: Op, moment: int) -> bool:
    """Was a write called by then, and not answered yet?"""
    return write.called < moment and (write.returned is None or moment < write.returned)

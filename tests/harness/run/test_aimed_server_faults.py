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
from tests.support.target_files import target_text

pytestmark = pytest.mark.engine
AIMED = target_text(
    '[[faults]]\nkind = "kill"\ntarget = "lock:leader"\nat = "write-sent"\nevery = "8s"\nlasts = "1s"',
    '[[faults]]\nkind = "throttle"\ntarget = "storage"\nshare = 0.05',
    'at = "before-write"\nevery = "10s"\nlasts = "1s"',
    '[[faults]]\nkind = "partition"\ntarget = "etcd-2"\nat = "before-write"\nevery = "12s"\nlasts = "1s"',
    "[require]\nstale_writes_attempted = 0",
)


@pytest.mark.slow
@pytest.mark.usefixtures("docker_engine")
def test_faults_on_servers_begin_while_a_holder_is_at_their_stop_point(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(AIMED)
    folder = tmp_path / "runs/t/latest"

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "t.toml", duration, engine="docker"),
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

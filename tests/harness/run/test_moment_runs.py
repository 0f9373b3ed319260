"""A complete run with a fault that waits for the state of a lock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkers.history.reader import History, read
from harness.core.exit_codes import ExitCode
from tests.support.challenged import counted, run_until_challenged
from tests.support.command import run_target
from tests.support.target_files import target_text

pytestmark = pytest.mark.engine
ENDING = 200_000_000  # ns
SOON = 3_000_000_000  # ns until the fault is seen in force on a busy machine; leases end every 4 s
TARGET = target_text(
    '[workload]\ntimeout = "5s"',
    '[[faults]]\nkind = "partition"\ntarget = "holder"\nfrom = "lock"\nevery = "4s"\nlasts = "3s"',
    '[[faults]]\nkind = "pause"\ntarget = "storage"\nwhen = "lease-ending"\nevery = "4s"\nlasts = "500ms"',
    "[require]\nstale_writes_attempted = 0",
    lock='kind = "redis"',
)


@pytest.mark.slow
@pytest.mark.usefixtures("local_engine")
def test_a_fault_waits_until_a_lease_is_about_to_end(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(TARGET)
    folder = tmp_path / "runs/t/latest"

    done = run_until_challenged(
        lambda duration: run_target(tmp_path, "t.toml", duration, engine="local"),
        seconds=20,
        was_challenged=counted("pauses"),
    )

    assert done.returncode == ExitCode.AS_EXPECTED, done.stderr
    history = read(folder / "history.jsonl")
    faults = json.loads((folder / "plan.json").read_text())["faults"]
    paused = [fault["in_force"] for fault in faults if fault["kind"] == "pause"]
    assert paused
    assert all(
        any(0 < moment - ending < SOON for ending in nearly_over(history, moment)) for moment in paused
    )


def nearly_over(history: History, moment: int) -> list[int]:
    """From when on had a lease under 200 ms left, as its holder knew by a moment, and was still held (ns)?"""
    ends: dict[str | None, int] = {}
    released: dict[str | None, int] = {}
    for op in history.operations:
        if op.f in ("acquire", "renew") and op.ttl and op.returned and op.returned < moment:
            ends[op.owner] = max(ends.get(op.owner, 0), op.sent + op.ttl - ENDING)
        elif op.f == "release" and op.learned:
            released[op.owner] = op.learned
    return [start for owner, start in ends.items() if start < released.get(owner, moment)]

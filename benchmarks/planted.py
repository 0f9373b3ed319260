"""Run ten planted bugs under three settings, and tabulate which of them each setting finds.

    python -m benchmarks.planted --engine local --times 3

Each bug replaces the lock or the storage of `redis-redis`; four of them are from the zoo. The last
row has no bug. A bug is found if the verdict is invalid. Each run is a separate process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCEPOST = Path(sys.executable).with_name("fencepost")
CORRECT = "redis-redis"
HERE = "benchmarks.planted_bugs"


@dataclass(frozen=True, slots=True)
class Bug:
    """What is wrong, and the settings that plant it."""

    name: str
    planted: tuple[str, ...]


def _lock(of: str, *others: str) -> tuple[str, ...]:
    return f"lock.kind={of}", "lock.server=redis", *others


def _storage(of: str, server: str = "redis", *others: str) -> tuple[str, ...]:
    return f"storage.kind={of}", f"storage.server={server}", *others


BUGS = (
    Bug("token drawn after the grant", _lock("workloads.zoo.separate_incr_after_set:SeparateIncrAfterSet")),
    Bug("token from the client's clock", _lock("workloads.zoo.wall_clock_token:WallClockToken")),
    Bug(
        "token compared in one step, written in the next",
        _storage("workloads.zoo.check_then_write:CheckThenWrite", "postgres"),
    ),
    Bug(
        "token counted by the release, and a fence that accepts an equal one",
        _lock(f"{HERE}.locks:TokenCountedByTheRelease", "storage.policy=inclusive", "workload.writes=1"),
    ),
    Bug(
        "mark kept in memory only",
        _storage(
            "workloads.zoo.mark_in_memory_with_restart:MarkInMemoryWithRestart",
            "postgres",
            "storage.fencing=unlogged",
        ),
    ),
    Bug("mark of each connection", _storage(f"{HERE}.storages:MarkOfEachConnection")),
    Bug("mark of one key missing", _storage(f"{HERE}.storages:MarkOfOneKeyMissing")),
    Bug("late answer: written again past the fence", _storage(f"{HERE}.storages:RetryPastTheFence")),
    Bug(
        "token compared when the data is opened, not when it is written",
        _storage(
            f"{HERE}.storages:CheckedWhenOpened",
            "redis",
            "storage.fence_on_acquire=true",
            "storage.policy=inclusive",
        ),
    ),
    Bug("old token taken again after a lost lease", _lock(f"{HERE}.locks:OldTokenAgain")),
    Bug("none", ()),
)

SETTINGS = {
    "before-write, 20 s": ('{kind="pause",target="holder",at="before-write",until="superseded"}', "20s"),
    "all, 20 s": ('{kind="pause",target="holder",hazards="all"}', "20s"),
    "all, 60 s": ('{kind="pause",target="holder",hazards="all"}', "60s"),
}
"""The faults and the duration of each."""


def changes(bug: Bug, setting: str) -> tuple[str, ...]:
    """Return what differs from the correct target."""
    faults, duration = SETTINGS[setting]
    return (*bug.planted, f"faults=[{faults}]", f"workload.duration={duration}")


def run(bug: Bug, setting: str, engine: str, runs: Path) -> dict[str, Any]:
    """Run once; return the verdict document."""
    changed = (f"--set={change}" for change in changes(bug, setting))
    ended = subprocess.run(
        [FENCEPOST, "run", CORRECT, "--engine", engine, "--runs", runs, "--format", "json", *changed],
        capture_output=True,
        text=True,
        check=False,
    )
    if not ended.stdout:
        raise SystemExit(f"{bug.name}: {setting} ended with status {ended.returncode}:\n{ended.stderr}")
    print(f"{bug.name}: {setting}: exit {ended.returncode}", file=sys.stderr, flush=True)
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def cell(documents: Sequence[dict[str, Any]]) -> str:
    """In how many runs it was found, and by which anomalies; or the verdicts of these runs."""
    found = [document for document in documents if document["verdict"] == "invalid"]
    names = Counter(finding["anomaly"] for document in found for finding in document["findings"])
    verdicts = Counter(document["verdict"] for document in documents if document not in found)
    seen = [name for name, _ in names.most_common()] or [f"not found ({', '.join(verdicts)})"]
    return f"{len(found)} of {len(documents)}: {', '.join(seen)}"


def main() -> None:
    """Run each bug under each setting, and print a row for each bug."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--at-once", type=int, default=1, help="runs at the same time")
    arguments = parser.parse_args()
    with ThreadPoolExecutor(arguments.at_once) as pool:
        running = {
            (bug, setting): [
                pool.submit(run, bug, setting, arguments.engine, arguments.runs)
                for _ in range(arguments.times)
            ]
            for bug in BUGS
            for setting in SETTINGS
        }
        print(f"Load at the start: {os.getloadavg()[0]:.1f}.\n")
        print(f"| bug | {' | '.join(SETTINGS)} |\n|---|{'---|' * len(SETTINGS)}")
        for bug in BUGS:
            cells = (cell([each.result() for each in running[bug, setting]]) for setting in SETTINGS)
            print(f"| {bug.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

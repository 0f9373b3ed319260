"""Kill the harness with SIGKILL during runs, and tabulate what is left.

    python -m benchmarks.killed --times 10 --engine docker

After each kill: how long until every client process was gone; whether `recheck`
judged the recording; and which objects of the run Docker still had afterwards.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

FENCEPOST = Path(sys.executable).with_name("fencepost")
TARGET = "etcd-postgres-unfenced"


def kill_one(engine: str, runs: Path, after: float) -> str:
    """Run, kill the harness after `after` seconds of work, and return a row of the table."""
    command: list[str | Path] = [FENCEPOST, "run", TARGET, "--engine", engine, "--runs", runs]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        plan = runs / TARGET / "latest" / "plan.json"
        before = plan.resolve()
        while not plan.exists() or plan.resolve() == before:
            time.sleep(0.02)
        time.sleep(after)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        killed = time.monotonic()
    while any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in children):
        time.sleep(0.001)
    gone = time.monotonic() - killed
    folder = plan.resolve().parent
    judged = subprocess.run(
        [FENCEPOST, "recheck", folder, "--format", "json"], capture_output=True, text=True, check=False
    )
    verdict = json.loads(judged.stdout)
    left = _left_in_docker(folder.name) if shutil.which("docker") else 0
    return (
        f"| {after:.1f} | {len(children)} | {gone * 1000:.0f} | {verdict['verdict']} "
        f"| {verdict['anomalies']['stale-write']} | {judged.returncode} | {left} |"
    )


def _left_in_docker(run_id: str) -> int:
    listings = (("ps", "-aq"), ("network", "ls", "-q"), ("volume", "ls", "-q"))
    return sum(
        len(
            subprocess.run(
                ["docker", *listing, "--filter", f"label=fencepost={run_id}"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout.split()
        )
        for listing in listings
    )


def main() -> None:
    """Kill several runs at moments drawn from a seed, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    print(
        "| killed after, s | children | all gone after, ms | recheck | stale writes | exit | left in Docker |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as runs:
        for _ in range(arguments.times):
            print(kill_one(arguments.engine, Path(runs), rng.uniform(0, 12)), flush=True)


if __name__ == "__main__":
    main()

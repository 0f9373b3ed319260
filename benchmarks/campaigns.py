"""How many runs a campaign makes in an hour with several workers, and the time of a run beyond its workload.

    python -m benchmarks.campaigns --cells 40 --workers 1 2 --engine local

Every worker count makes the same runs with the same seeds; the last column says how many verdicts
differ from those of the first count. The machine should do nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FENCEPOST = Path(sys.executable).with_name("fencepost")
_CAMPAIGN = """\
name = "measured"
canary = false
seeds = [{seeds}]
set = ["workload.duration={seconds}s"]

[[matrix]]
lock = ["etcd", "redis"]
storage = ["postgres:none", "postgres:conditional-update"]
"""
_CELLS = 4


def main() -> None:
    """Print a row for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=40, help="runs")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=int, default=10, help="of each workload")
    parser.add_argument("--engine", default="local")
    arguments = parser.parse_args()
    seeds = ", ".join(map(str, range(1, arguments.cells // _CELLS + 1)))
    print("| workers | runs | wall time | runs per hour | overhead per run, median | other verdicts |")
    print("|--:|--:|--:|--:|--:|--:|")
    first: dict[tuple[str, int], str] = {}
    for workers in arguments.workers:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "measured.toml"
            file.write_text(_CAMPAIGN.format(seeds=seeds, seconds=arguments.seconds), encoding="utf-8")
            took, runs = _run(file, workers, arguments.engine)
        verdicts = {(run["cell"], run["seed"]): run["outcome"] for run in runs}
        first = first or verdicts
        differ = sum(verdicts[key] != first.get(key) for key in verdicts)
        overhead = statistics.median(run["seconds"] for run in runs) - arguments.seconds
        print(
            f"| {workers} | {len(runs)} | {took:.0f} s | {len(runs) * 3600 / took:.0f}"
            f" | {overhead:.1f} s | {differ} |",
            flush=True,
        )


def _run(file: Path, workers: int, engine: str) -> tuple[float, list[dict[str, Any]]]:
    """Run a campaign, and return how long it took, with its runs."""
    command: list[str | Path] = [FENCEPOST, "campaign", "run", "--engine", engine]
    command += ["--workers", str(workers), file]
    began = time.monotonic()
    subprocess.run(command, cwd=file.parent, stdout=subprocess.DEVNULL, check=False)
    took = time.monotonic() - began
    document = json.loads((file.parent / "nights/measured/latest/campaign.json").read_bytes())
    return took, [run | {"cell": cell["name"]} for cell in document["cells"] for run in cell["runs"]]


if __name__ == "__main__":
    main()

"""How many runs a campaign makes in an hour with several workers, and the time of a run beyond its workload.

    python -m benchmarks.campaigns --cells 40 --workers 1 2 --engine local --reuse

With `--reuse`, each number of workers is measured again with servers that runs share. Every row
has the same runs with the same seeds; the last column says how many verdicts differ from those of
the first row. The machine should do nothing else; processor time, of everything but containers,
counts also where it does.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
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
reuse = {reuse}
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
    parser.add_argument("--reuse", action="store_true", help="measure shared servers as well")
    arguments = parser.parse_args()
    seeds = ", ".join(map(str, range(1, arguments.cells // _CELLS + 1)))
    print("| workers | servers | runs | wall time | runs per hour | overhead per run, median", end=" | ")
    print("processor time per run | other verdicts |")
    print("|--:|---|--:|--:|--:|--:|--:|--:|")
    first: dict[tuple[str, int], str] = {}
    for workers, reuse in itertools.product(
        arguments.workers, (False, True) if arguments.reuse else (False,)
    ):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "measured.toml"
            text = _CAMPAIGN.format(seeds=seeds, seconds=arguments.seconds, reuse=str(reuse).lower())
            file.write_text(text, encoding="utf-8")
            before = _processor_time()
            took, runs = _run(file, workers, arguments.engine)
        used = (_processor_time() - before) / len(runs)
        verdicts = {(run["cell"], run["seed"]): run["outcome"] for run in runs}
        first = first or verdicts
        differ = sum(verdicts[key] != first.get(key) for key in verdicts)
        overhead = statistics.median(run["seconds"] for run in runs) - arguments.seconds
        print(
            f"| {workers} | {'shared' if reuse else 'own'} | {len(runs)} | {took:.0f} s"
            f" | {len(runs) * 3600 / took:.0f} | {overhead:.1f} s | {used:.1f} s | {differ} |",
            flush=True,
        )


def _processor_time() -> float:
    """Return the processor time of all processes that this one has waited for (s)."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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

"""Run targets many times as a user would, and tabulate the findings and times.

    python -m benchmarks.runs --times 20 --engine docker etcd-postgres-unfenced etcd-postgres

Each run is a separate process. `to verdict` is from the start of the command
to its verdict on stdout, `to end` until the process has gone; both less the
workload's duration. `first stale write` is when the storage accepted it, in
TTLs after the start of the workload.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCEPOST = Path(sys.executable).with_name("fencepost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One run."""

    status: int
    document: dict[str, Any]
    to_verdict: float  # seconds, less the workload's duration
    to_end: float  # seconds, likewise
    first_stale: float | None  # TTLs


def measure(target: str, engine: str, runs: Path, options: Sequence[str]) -> Measured:
    """Run a target once."""
    began = time.monotonic()
    with subprocess.Popen(
        [FENCEPOST, "run", target, "--engine", engine, "--runs", runs, "--format", "json", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it was requested as a pipe
        line = process.stdout.readline()
        judged = time.monotonic()
        _, errors = process.communicate()
    if not line:
        raise SystemExit(f"{target} ended with status {process.returncode} and no verdict:\n{errors}")
    ended = time.monotonic()
    folder = runs / target / "latest"
    plan = json.loads((folder / "plan.json").read_text())
    duration = plan["duration"] / 1e9
    return Measured(
        status=process.returncode,
        document=json.loads(line),
        to_verdict=judged - began - duration,
        to_end=ended - began - duration,
        first_stale=first_stale_write(folder, plan["started"]),
    )


def first_stale_write(folder: Path, started: int) -> float | None:
    """Return when the first stale write was acknowledged, in TTLs after the start of the workload."""
    header, *events = map(json.loads, (folder / "history.jsonl").read_text().splitlines())
    stale = set(_stale_values(json.loads(each) for each in (folder / "commits.jsonl").open()))
    for event in events:
        if event["type"] == "ok" and event["f"] == "write" and event["value"] in stale:
            return float((event["time"] - started) / header["ttl"])
    return None


def _stale_values(commits: Iterable[dict[str, Any]]) -> Iterable[str]:
    marks: dict[str, int] = {}
    for commit in commits:
        mark = marks.get(commit["resource"], 0)
        if commit["token"] < mark:
            yield commit["value"]
        marks[commit["resource"]] = max(mark, commit["token"])


def row(target: str, measured: Sequence[Measured]) -> str:
    """Format one line of the table."""
    documents = [each.document for each in measured]
    coverage = [document["coverage"] for document in documents]
    attempted = [each["stale_writes_attempted"] for each in coverage]
    first = [each.first_stale for each in measured if each.first_stale is not None]
    cells = (
        target,
        f"{sum(document['as_expected'] for document in documents)} of {len(documents)}",
        ", ".join(sorted({document["verdict"] for document in documents})),
        _spread(attempted, "d"),
        _spread([each["stale_writes_rejected"] for each in coverage], "d"),
        _spread([each["stale_writes_accepted"] for each in coverage], "d"),
        _spread(first, ".2f") if first else "-",
        _spread([each.to_verdict for each in measured], ".1f"),
        _spread([each.to_end for each in measured], ".1f"),
    )
    return f"| {' | '.join(cells)} |"


def _spread(values: Sequence[float], form: str) -> str:
    middle = statistics.median(values)
    if form == "d":
        return f"{min(values):d} / {middle:g} / {max(values):d}"
    return f"{min(values):{form}} / {middle:{form}} / {max(values):{form}}"


HEAD = (
    "| target | as expected | verdict | stale writes attempted | refused | accepted "
    "| first stale write, TTLs | to verdict, s | to end, s |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    """Run each target several times, and print a row of minimum / median / maximum for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--set", action="append", default=[])
    arguments = parser.parse_args()
    options = [f"--set={each}" for each in arguments.set]
    print(HEAD, flush=True)
    for target in arguments.targets:
        measured = []
        for number in range(arguments.times):
            one = measure(target, arguments.engine, arguments.runs, options)
            measured.append(one)
            print(f"{target} {number + 1}: exit {one.status}", file=sys.stderr, flush=True)
        print(row(target, measured), flush=True)


if __name__ == "__main__":
    main()

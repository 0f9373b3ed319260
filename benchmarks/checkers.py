"""How long it takes to judge histories of many operations, and how much memory.

    python -m benchmarks.checkers

Each row is measured in a process of its own, several times; the middle one
counts. Generating a history is not part of it; reading one is where it says so.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import checkers
from benchmarks.generated import Policy, Shape, generate, lines
from benchmarks.growth import Series, plot, slope

_SMALL = Shape(operations=20, clients=5, lost=0.05)
_CLIENTS = (5, 20, 100)
_LOST = (0.0, 0.01, 0.05)
_GROWTH = [round(10 ** (power / 2)) for power in range(6, 13)]


def judging(shape: Shape, times: int) -> dict[str, Any]:
    """Judge one generated history several times."""
    history = generate(shape)
    verdict = checkers.judge(history)
    found = sum(verdict.anomalies.values())
    if bool(found) != shape.wrong:
        raise AssertionError(f"{shape}: {verdict.anomalies}")
    return _measured(times, lambda: checkers.judge(history))


def many(histories: int, times: int) -> dict[str, Any]:
    """Parse and judge many short histories in one process."""
    texts = [list(lines(generate(replace(_SMALL, seed=seed)))) for seed in range(histories)]

    def judge_all() -> None:
        for text in texts:
            checkers.judge(checkers.parse(text))

    return _measured(times, judge_all)


def from_disk(shape: Shape, times: int, *, kept: bool) -> dict[str, Any]:
    """`fencepost recheck` of a history on disk, from its lines or from its columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        _in_own_process("store", asdict(shape) | {"path": str(path), "kept": kept})
        runs = [_rechecked(path) for _ in range(times)]
    return _result([seconds for seconds, _ in runs], max(kilobytes for _, kilobytes in runs))


def _rechecked(path: Path) -> tuple[float, int]:
    """How many seconds and kilobytes the command takes."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "harness.cli", "recheck", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise AssertionError(f"{command} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_maxrss


def store(path: str, *, kept: bool, **shape: Any) -> dict[str, Any]:
    """Write a generated history, and its columns if they are to be kept."""
    with Path(path).open("w", encoding="utf-8") as file:
        file.writelines(lines(generate(Shape(**shape))))
    if kept:
        checkers.read(Path(path), keep_columns=True)
    return {}


def _measured(times: int, work: Callable[[], object]) -> dict[str, Any]:
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return _result(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _result(seconds: Sequence[float], kilobytes: int) -> dict[str, Any]:
    return {"seconds": statistics.median(seconds), "mebibytes": kilobytes / 1024}


_JOBS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "judging": lambda job: judging(Shape(**job["shape"]), job["times"]),
    "many": lambda job: many(job["histories"], job["times"]),
    "from_disk": lambda job: from_disk(Shape(**job["shape"]), job["times"], kept=job["kept"]),
    "store": lambda job: store(**job),
}


def _in_own_process(name: str, job: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.checkers", "--job", name, json.dumps(job)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _judged(shape: Shape, times: int) -> dict[str, Any]:
    return _in_own_process("judging", {"shape": asdict(shape), "times": times})


def registers(operations: int, times: int) -> Iterator[str]:
    """A table of registers, valid ones and ones with one wrong read."""
    yield f"| {operations:,} operations | clients | answers lost | valid | one wrong read | memory |"
    yield "|---|---:|---:|---:|---:|---:|"
    for policy, clients, lost in itertools.product(get_args(Policy), _CLIENTS, _LOST):
        shape = Shape(operations=operations, clients=clients, lost=lost, policy=policy)
        valid, wrong = (_judged(replace(shape, wrong=wrong), times) for wrong in (False, True))
        most = max(valid["mebibytes"], wrong["mebibytes"])
        yield (
            f"| {policy} | {clients} | {lost:.0%} | {valid['seconds']:.2f} s | {wrong['seconds']:.2f} s"
            f" | {most:.0f} MiB |"
        )


def others(operations: int, times: int) -> Iterator[str]:
    """A table of what else has to be quick."""
    shape = Shape(operations=operations)
    disk = {"shape": asdict(shape), "times": times}
    yield "| | time | memory |"
    yield "|---|---:|---:|"
    rows = {
        f"{operations:,} operations over 1,000 resources": lambda: _judged(
            replace(shape, resources=1000), times
        ),
        f"`fencepost recheck` of {operations:,} operations, from JSON lines": lambda: _in_own_process(
            "from_disk", disk | {"kept": False}
        ),
        "the same from the columns beside them": lambda: _in_own_process("from_disk", disk | {"kept": True}),
        "20,000 histories of 20 operations, parsed and judged": lambda: _in_own_process(
            "many", {"histories": 20_000, "times": 1}
        ),
    }
    for name, measure in rows.items():
        measured = measure()
        yield f"| {name} | {measured['seconds']:.2f} s | {measured['mebibytes']:.0f} MiB |"


def growth(times: int, picture: Path) -> Iterator[str]:
    """Time against the number of operations, as a picture and as slopes."""
    series = [
        Series(
            name=policy,
            points=tuple(
                (size, _judged(Shape(operations=size, policy=policy), times)["seconds"]) for size in _GROWTH
            ),
        )
        for policy in get_args(Policy)
    ]
    picture.write_text(plot(series, "operations", "seconds"), encoding="utf-8")
    yield "| register | slope on log-log | per operation, from 1 M |"
    yield "|---|---:|---:|"
    for each in series:
        size, seconds = each.points[-1]
        yield f"| {each.name} | {slope(each):.2f} | {seconds / size * 1e9:.0f} ns |"


def main() -> None:
    """Print the tables, or measure one row of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--picture", type=Path, default=Path("docs/growth.svg"))
    parser.add_argument("--only", choices=("registers", "others", "growth"))
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.job:
        name, job = asked.job
        print(json.dumps(_JOBS[name](json.loads(job))))
        return
    tables = {
        "registers": lambda: registers(asked.operations, asked.times),
        "others": lambda: others(asked.operations, asked.times),
        "growth": lambda: growth(asked.times, asked.picture),
    }
    for name, table in tables.items():
        if asked.only in {None, name}:
            for line in table():
                print(line, flush=True)
            print()


if __name__ == "__main__":
    main()

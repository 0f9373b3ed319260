"""How reading and judging grow with a run that has many of one thing.

    python -m benchmarks.growth [--sizes 1000,4000,16000] [--seconds 60] [--plot docs/kinds.svg] [KIND…]

Prints a table in Markdown: for each kind of run the processor seconds of `read` and `judge` for each
number of operations, the exponent by which they grow, and the peak memory of the largest one. The plot
has the kinds that take the longest, the shortest, and a time in the middle.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.many_faults import MANY
from benchmarks.measuring import peak
from benchmarks.plot import Series, plot, slope
from checkers.history.commits import read_commits
from checkers.history.reader import read
from checkers.verdict.judge import judge

_SIZES = "1000,4000,16000"

_Measured = tuple[int, dict[str, Any]]
"""A number of operations, and what was measured."""


def judged(kind: str, operations: int) -> dict[str, Any]:
    """Read and judge one run."""
    with tempfile.TemporaryDirectory() as folder:
        history, log = MANY[kind].script(operations).written_to(Path(folder))
        began = sum(os.times()[:4])
        commits = None if log is None else read_commits(log)
        verdict = judge(read(history), commits, same_run=True)
        seconds = max(sum(os.times()[:4]) - began, 0.01)  # of a second process that reads, too; a tick
    finds = MANY[kind].finds
    count = 0 if finds is None else verdict.anomalies[finds]
    return {"seconds": seconds, "mebibytes": peak() / 1024, "found": count}


def in_own_process(kind: str, operations: int, limit: float) -> dict[str, Any] | None:
    """The same in a process of its own; None if that takes more processor time than the limit, in s."""
    command = [sys.executable, "-m", "benchmarks.growth", "--one", kind]
    command += ["--sizes", str(operations), "--seconds", str(limit)]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode == -signal.SIGXCPU:
        return None
    done.check_returncode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rows(kinds: list[str], sizes: list[int], limit: float, series: list[Series]) -> Iterator[str]:
    """The lines of the table; adds what was measured of each kind to the series."""
    yield f"| run with many … | {' | '.join(f'{size:,}' for size in sizes)} | exponent | memory | found |"
    yield f"|---|{'---:|' * (len(sizes) + 3)}"
    for kind in kinds:
        measured = [in_own_process(kind, size, limit) for size in sizes]
        done = [(size, each) for size, each in zip(sizes, measured, strict=True) if each is not None]
        series.append(Series(name=kind, points=tuple((size, each["seconds"]) for size, each in done)))
        times = " | ".join(
            f"> {limit:.0f} s" if each is None else f"{each['seconds']:.2f} s" for each in measured
        )
        yield f"| {kind} | {times} | {_exponent(done)} | {_last(done)} |"


def _exponent(done: Sequence[_Measured]) -> str:
    """Between the two largest runs that were judged."""
    points = tuple((float(size), float(each["seconds"])) for size, each in done[-2:])
    return f"{slope(Series(name='', points=points)):.2f}" if len(points) > 1 else "–"


def _last(done: Sequence[_Measured]) -> str:
    if not done:
        return "– | –"
    _, largest = done[-1]
    return f"{largest['mebibytes']:.0f} MiB | {largest['found']:,}"


def chosen(series: Sequence[Series]) -> tuple[Series, ...]:
    """The kinds that take the shortest, a middle and the longest time for the largest run of all."""
    largest = max(len(each.points) for each in series)
    whole = [each for each in series if len(each.points) == largest]
    ordered = sorted(whole, key=lambda each: each.points[-1][1])
    return tuple({each.name: each for each in (ordered[0], ordered[len(ordered) // 2], ordered[-1])}.values())


def main() -> None:
    """Print the table, and draw the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="all, by default")
    parser.add_argument("--sizes", default=_SIZES, help="numbers of operations")
    parser.add_argument("--seconds", type=float, default=60, help="the most for one run")
    parser.add_argument("--plot", type=Path, help="the SVG file to draw")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    if arguments.one:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(arguments.seconds), resource.RLIM_INFINITY))
        print(json.dumps(judged(arguments.one, sizes[0])))
        return
    series: list[Series] = []
    for row in rows(arguments.kinds or list(MANY), sizes, arguments.seconds, series):
        print(row, flush=True)
    if arguments.plot:
        arguments.plot.write_text(plot(chosen(series), "operations", "seconds"), encoding="utf-8")


if __name__ == "__main__":
    main()

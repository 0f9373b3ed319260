"""How long it takes to judge histories, how much memory, and how long Porcupine takes for the same.

    python -m benchmarks.checkers

Porcupine is built from its Go module, at the version that benchmarks/porcupine
pins. Each row is measured in a process of its own, several times; the middle one
counts. Generating a history is no part of it, and neither is parsing, on both
sides; where a row says "recheck" it is the whole command. Porcupine may take 30 s
and 8 GiB a history: what it does not finish is asked but once, what takes it over
5 s three times, and what is nowhere easier than two that it did not finish not at all.

All is kept in a JSON file as it is measured, so an interrupted run can go on
(`--resume`); then the tables and the picture in docs/ are written. It ends with 1
if a verdict was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import others, peer, registers, tables
from benchmarks.measuring import in_own_process
from benchmarks.results import Results, machine


def measure(results: Results, *, operations: int, times: int) -> list[str]:
    """Measure what is not measured yet; what is wrong."""
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {text}", file=sys.stderr, flush=True)

    results.once("machine", machine)
    for name, words, work in others.rows(operations, times):
        row = results.once(name, work)
        say(f"{words}: {row['seconds']:.2f} s, {row['mebibytes']:.0f} MiB")
    spread = results.once("keys", lambda: in_own_process("keys", count=200, operations=500, times=times))
    say(f"200 keys: {spread['alone']['seconds']:.2f} s, in processes {spread['spread']['seconds']:.2f} s")
    others.growth(results, times, say)
    with tempfile.TemporaryDirectory() as folder:
        program = peer.build(Path(folder))
        etcd = results.once("etcd", lambda: others.etcd_logs(program, times))
        say(f"etcd logs: {etcd['ours']['seconds']:.4f} s; Porcupine: {etcd['peer']['seconds']:.4f} s")
        wrong = registers.compare(results, program, largest=operations, times=times, say=say)
    return [*others.mistakes(etcd), *wrong]


def main() -> int:
    """Measure, write the tables, and say what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--operations", type=int, default=1_000_000, help="of the largest histories")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results/checkers.json"))
    parser.add_argument("--resume", action="store_true", help="keep what is in the results")
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks.md"))
    parser.add_argument("--picture", type=Path, default=Path("docs/growth.svg"))
    asked = parser.parse_args()
    results = Results(asked.results, afresh=not asked.resume)
    wrong = measure(results, operations=asked.operations, times=asked.times)
    asked.picture.write_text(tables.picture(results), encoding="utf-8")
    tables.put_into(asked.page, list(tables.tables(results, asked.operations, asked.times)))
    for mistake in wrong:
        print(f"wrong: {mistake}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

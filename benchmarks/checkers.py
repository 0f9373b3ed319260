"""Time and memory to judge histories, compared with Porcupine.

    python -m benchmarks.checkers

Porcupine is built from its Go module, at the version that benchmarks/porcupine
pins. Each row is the median of several measurements in a separate process. Neither
side includes generating or parsing the history, except that "recheck" is the whole
command. Porcupine gets 30 s and 8 GiB per history. A history that it does not finish
is measured once, one that takes it over 5 s three times, and one that is no easier
than two that it did not finish is skipped.

Each result is saved to a JSON file at once, so that an interrupted run can continue
(`--resume`); at the end the figures and the plot in docs/, and the tables next to
the file are written. The exit code
is 1 if a verdict was wrong.
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
    """Measure everything that is not in the results yet, and return the mistakes."""
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
    """Measure, write the tables, and print the mistakes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--operations", type=int, default=1_000_000, help="of the largest histories")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results/checkers.json"))
    parser.add_argument("--resume", action="store_true", help="keep the existing results")
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks.md"))
    parser.add_argument("--tables", type=Path, default=Path("benchmarks/results/checkers.md"))
    parser.add_argument("--picture", type=Path, default=Path("docs/growth.svg"))
    asked = parser.parse_args()
    results = Results(asked.results, afresh=not asked.resume)
    wrong = measure(results, operations=asked.operations, times=asked.times)
    asked.picture.write_text(tables.picture(results), encoding="utf-8")
    tables.put_into(asked.page, list(tables.figures(results, asked.operations)))
    tables.put_into(asked.tables, list(tables.details(results, asked.operations, asked.times)))
    for mistake in wrong:
        print(f"wrong: {mistake}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

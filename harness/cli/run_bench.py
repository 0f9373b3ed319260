"""Bench several targets, one after another, and print a table for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TextIO

from msgspec import to_builtins

from checkers.text.printable import as_json
from harness.bench.bench import Bench, BenchOptions
from harness.bench.compare import comparison, read
from harness.bench.document import BENCH, answer_of
from harness.bench.intervals import Decision
from harness.bench.page import BENCH_PAGE, render
from harness.bench.run import run_bench
from harness.bench.tables import lines
from harness.core import printing
from harness.core.errors import FencepostError
from harness.core.exit_codes import ExitCode, of_error, of_several
from harness.core.paths import as_seen_from_here
from harness.engines.engine import Engine
from harness.files.atomic_files import replace_file
from harness.spec import Target

_CODES = {
    Decision.MET: ExitCode.AS_EXPECTED,
    Decision.MISSED: ExitCode.VIOLATION,
    Decision.UNDECIDED: ExitCode.UNKNOWN,
}


def bench_all(
    targets: Sequence[Target],
    engine: Engine,
    options: BenchOptions,
    *,
    text: TextIO | None,
    as_document: bool,
) -> ExitCode:
    """Bench targets in order; Ctrl-C ends them, and keeps what was measured."""

    def say(line: str) -> None:
        printing.show(line, to=text)

    codes: list[ExitCode] = []
    for target in targets:
        say(f"{target.name}: bench, engine {engine.name}")
        try:
            with closing(run_bench(target, engine, options, say)) as benches:
                codes.extend(_finished(bench, say, as_document=as_document) for bench in benches)
        except (FencepostError, KeyboardInterrupt) as error:
            codes.append(of_error(error))
            said = error.lines if isinstance(error, FencepostError) else ("interrupted",)
            printing.say(f"{target.name}: {said[0]}", *said[1:])
        if ExitCode.INTERRUPTED in codes:
            break
    return of_several(codes)


def _finished(bench: Bench, say: Callable[[str], None], *, as_document: bool) -> ExitCode:
    """Write what a bench found into its folder, and print it."""
    found = bench.document()
    replace_file(bench.folder / BENCH, [as_json(to_builtins(found), 1), "\n"])
    replace_file(bench.folder / BENCH_PAGE, [render(found)])
    for line in lines(found):
        say(line)
    say(f"  page         {as_seen_from_here(bench.folder / BENCH_PAGE)}")
    say(f"  bench folder {as_seen_from_here(bench.folder)}")
    if as_document:
        printing.show_document(found)
    return _CODES[answer_of(found)]


def print_comparison(first: str, second: str, benches: Path, output: str) -> ExitCode:
    """Print what differs between two benches."""
    found = comparison(read(first, benches), read(second, benches))
    if output == "json":
        printing.show_document(found)
    else:
        printing.show(*found.lines())
    return ExitCode.AS_EXPECTED

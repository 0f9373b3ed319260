"""`fencepost bench`."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import click

from harness.cli.options import ENGINE, OVERRIDES, as_seconds, folder_option, format_option, with_default
from harness.cli.output import print_unselected, text_stream
from harness.core.exit_codes import ExitCode
from harness.core.printing import say


@click.command(short_help="Measure what locks and fences cost.")
@click.argument("names", metavar="TARGET...", nargs=-1)
@with_default(
    "--for",
    "seconds",
    metavar="TIME",
    default="2m",
    callback=as_seconds,
    help="How long all measurements of a target take together; a load takes at least 0.2 s.",
)
@click.option(
    "--max-rate",
    type=click.IntRange(1, 1_000_000_000),
    metavar="N",
    help="Send at most so many requests a second. Default: as many as the clients can.",
)
@click.option(
    "--compare",
    nargs=2,
    metavar="A B",
    help="Compare two benches, by their folders or by targets for the newest, and measure nothing.",
)
@folder_option("benches", "The folder for the folders of benches.")
@format_option("one document per line on stdout, everything else on stderr.")
@OVERRIDES
@ENGINE
def bench(
    names: tuple[str, ...],
    seconds: float,
    max_rate: int | None,
    compare: tuple[str, str] | None,
    benches: Path,
    output: str,
    overrides: tuple[str, ...],
    engine: Literal["auto", "docker", "local"],
) -> int:
    """Measure the locks, the storages and the fences of targets, on the servers that `run` uses.

    There are no faults, but for those of the target on its servers, which show its availability. Each load
    is repeated three times; [bench] in a target says what is required. Exit code 0: it is met; 1: missed;
    2: undecided, because the interval has the bound in it, because the figure or the machine was too noisy,
    or because the driver or --max-rate was the limit.
    """
    from harness.core.duration import NS
    from harness.core.errors import ConfigurationError
    from harness.spec import load
    from harness.spec.selection import targets as select

    if find_spec("hdrh") is None:
        raise ConfigurationError("bench needs HdrHistogram: pip install '.[bench]' in Fencepost's checkout")
    if compare is not None:
        from harness.cli.run_bench import print_comparison

        if names:
            raise click.UsageError("--compare takes two benches, and no target")
        return print_comparison(*compare, benches, output)
    selected = select(names)
    print_unselected(selected)
    if not selected.names:
        return ExitCode.NOTHING_SELECTED
    loaded = [load(name, overrides) for name in selected.names]

    from harness.bench.bench import BenchOptions
    from harness.bench.run import check
    from harness.cli.run_bench import bench_all
    from harness.engines.choice import choose

    for target in loaded:
        check(target)
    chosen = choose(engine, say)
    options = BenchOptions(
        lasts=round(seconds * NS["s"]),
        max_rate=max_rate,
        benches=benches,
        command=("fencepost", *sys.argv[1:]),
        again=("--engine", chosen.name),
    )
    return bench_all(loaded, chosen, options, text=text_stream(output), as_document=output == "json")

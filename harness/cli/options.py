"""Options and arguments shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
LONGEST_SEED = 20  # digits
FORMATS = click.Choice(["text", "json"])

with_default = partial(click.option, show_default=True)

MODELS = (
    "cas-register",
    "counter",
    "fenced-mutex",
    "kv",
    "mutex",
    "owned-mutex",
    "reentrant-fenced-mutex",
    "reentrant-mutex",
    "register",
    "set",
)


def as_path(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    """Read a path of the command line, if it is there."""
    from harness.core.paths import path_of

    return None if path is None else path_of(str(path))


def folder_option(default: str, means: str, *names: str) -> Decorator:
    """Make the option with the name of its default, for a folder; `means` is its help."""
    kind = click.Path(path_type=Path, file_okay=False)
    return with_default(f"--{default}", *names, default=default, type=kind, callback=as_path, help=means)


def format_option(means: str) -> Decorator:
    """Make the option --format; `means` says what it prints as JSON, and where."""
    return click.option("--format", "output", default="text", type=FORMATS, help=f"json: {means}")


def _seed_number(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
    if text is None or (text.isdecimal() and len(text) <= LONGEST_SEED):
        return text if text is None else int(text)
    raise click.BadParameter(f"{text!r} is not a seed: give the integer that a run printed, such as 7")


def as_seconds(_context: click.Context, _option: click.Parameter, text: str) -> float:
    """Read a duration."""
    from harness.core.duration import NS, parse_duration

    try:
        return parse_duration(text) / NS["s"]
    except ValueError as error:
        raise click.BadParameter(f"{text}: {error}") from None


def _model(_context: click.Context, _option: click.Parameter, name: str | None) -> str | None:
    if name is None or name in MODELS:
        return name
    from harness.core.errors import ConfigurationError
    from harness.core.suggestions import did_you_mean

    raise ConfigurationError(f"unknown model {name}{did_you_mean(name, MODELS)}")


def model_option(*, required: bool, means: str) -> Decorator:
    """Make the option --model; `means` begins its help."""
    return click.option(
        "--model", required=required, metavar="MODEL", callback=_model, help=f"{means} {', '.join(MODELS)}."
    )


INITIAL = click.option(
    "--initial",
    metavar="JSON",
    help="The object's initial value, such as 0. Default: nil, an empty set, 0 or a free lock, by model.",
)
HISTORY = click.argument("history", metavar="HISTORY|RUN")
RUNS = folder_option("runs", "The folder that contains the run folders.")
OUTPUT = click.option(
    "-o",
    "--output",
    "file",
    default="-",
    type=click.Path(path_type=Path, allow_dash=True),
    help="A new file. Default: stdout.",
)
FORCE = click.option("--force", is_flag=True, help="Replace the output file if it exists.")
VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also print every proof, all counts, the dangerous moments and windows, and each checker.",
)
FORMAT = format_option("one verdict per line on stdout, everything else on stderr.")
ENGINE = click.option(
    "--engine",
    default="auto",
    type=click.Choice(["auto", "docker", "local"]),
    help="auto: Docker if it answers, otherwise local.",
)
OVERRIDES = click.option(
    "--set", "overrides", metavar="KEY=VALUE", multiple=True, help="Change a setting of the target."
)
TRUST = click.option(
    "--trust", is_flag=True, help="Run what a recorded run's target names, although this machine never has."
)
SEED = click.option("--seed", metavar="N", callback=_seed_number, help="Repeat the schedule of another run.")


def max_time_option(means: str) -> Decorator:
    """Make the option --max-time, in seconds; `means` is its help."""
    return with_default("--max-time", default="10m", metavar="DURATION", callback=as_seconds, help=means)

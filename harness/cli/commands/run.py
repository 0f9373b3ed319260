"""`fencepost run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from harness.cli.options import ENGINE, FORMAT, OVERRIDES, RUNS, SEED, TRUST, VERBOSE, max_time_option
from harness.cli.output import documents, print_unselected, text_stream
from harness.core.exit_codes import ExitCode
from harness.core.printing import say

if TYPE_CHECKING:
    from harness.run.replay import ReplayedPlan
    from harness.spec import Target


@click.command(short_help="Run targets.")
@click.argument("names", metavar="TARGET...", nargs=-1)
@ENGINE
@OVERRIDES
@SEED
@click.option(
    "--plan",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Repeat the schedule in this plan.json; the target must be that of its run.",
)
@click.option(
    "--hazard",
    metavar="NAME",
    help="Aim all faults at one dangerous moment, such as write-sent/superseded; see docs/hazards.md.",
)
@click.option(
    "--until-violation",
    is_flag=True,
    help="Run it again and again, with other seeds and changed plans, until a violation.",
)
@max_time_option("With --until-violation: start no further run after this time.")
@click.option("--both", is_flag=True, help="Run each target, which is fenced, and its unfenced copy.")
@click.option("--no-faults", is_flag=True, help="Run without faults: the verdict will be 'not tested'.")
@VERBOSE
@FORMAT
@RUNS
@TRUST
def run(
    names: tuple[str, ...],
    engine: Literal["auto", "docker", "local"],
    overrides: tuple[str, ...],
    seed: int | None,
    plan: Path | None,
    hazard: str | None,
    until_violation: bool,
    max_time: float,
    both: bool,
    no_faults: bool,
    verbose: bool,
    output: str,
    runs: Path,
    trust: bool,
) -> int:
    """Run targets: a shipped target's name, a file, a folder, or a pattern such as 'etcd-*'."""
    from harness.spec.selection import targets as select

    selected = select(names)
    print_unselected(selected)
    if not selected.names:
        return ExitCode.NOTHING_SELECTED
    if hazard is not None:
        from harness.spec.hazards import check_aimed, overrides_for

        if no_faults:
            raise click.UsageError("--hazard and --no-faults contradict each other: drop one of them")
        overrides += overrides_for(hazard)
    loaded = _load_all(selected.names, overrides, faults=not no_faults, both=both, trust=trust)
    if hazard is not None:
        check_aimed(hazard, loaded)
        say(f"--hazard {hazard}: the run must hit it; the target's own faults and [require] do not apply")
    if plan is not None and no_faults:
        raise click.UsageError("--plan and --no-faults contradict each other: drop one of them")
    replay = None if plan is None else _replayed(plan, seed, loaded)
    if until_violation and len(loaded) > 1:
        raise click.UsageError("--until-violation searches with one target at a time")

    from harness.cli.run_targets import run_all
    from harness.core.invocation import NO_FAULTS
    from harness.engines.choice import choose
    from harness.run.runner import RunOptions

    chosen = choose(engine, say)
    options = RunOptions(
        seed=replay.seed if replay else seed,
        planned=replay.planned if replay else None,
        faults=not no_faults,
        runs=runs,
        command=("fencepost", *sys.argv[1:]),
        again=("--engine", chosen.name, *[NO_FAULTS] * no_faults),
    )

    if until_violation:
        from harness.cli.search_run import search_and_print

        return search_and_print(
            loaded[0],
            chosen,
            options,
            seconds=max_time,
            verbose=verbose,
            text=text_stream(output),
            judged=documents(output),
        )
    return run_all(
        loaded, chosen, options, verbose=verbose, text=text_stream(output), judged=documents(output)
    )


def _replayed(plan: Path, seed: int | None, targets: Sequence[Target]) -> ReplayedPlan:
    from harness.core.errors import ConfigurationError
    from harness.run.replay import read_plan

    if seed is not None:
        raise ConfigurationError("--plan contains the seed: drop --seed")
    if len(targets) > 1:
        raise ConfigurationError("--plan is for one target, that of its run")
    return read_plan(plan, targets[0])


def _load_all(
    names: Sequence[str], overrides: Sequence[str], *, faults: bool, both: bool, trust: bool
) -> list[Target]:
    """Read all targets before anything starts, and report all their errors; `both`: with unfenced copies."""
    from harness.cli.trust import is_in_recorded_run, require_trust
    from harness.core.errors import ConfigurationError
    from harness.spec import load
    from harness.spec.executed import executed_here
    from harness.spec.overrides import unfenced_overrides

    loaded: list[Target] = []
    errors: list[str] = []
    for name in names:
        try:
            loaded.append(load(name, overrides, faults=faults))
            if is_in_recorded_run(Path(name)):
                require_trust(executed_here(loaded[-1]), name, trust=trust)
            if both:
                loaded.append(load(name, (*overrides, *unfenced_overrides(loaded[-1])), faults=faults))
        except ConfigurationError as error:
            errors += error.lines
    if errors:
        raise ConfigurationError(*errors)
    return loaded

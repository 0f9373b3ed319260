"""`fencepost campaign`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from harness.cli.options import ENGINE, as_path, folder_option, format_option
from harness.core.exit_codes import ExitCode
from harness.core.printing import say, show

if TYPE_CHECKING:
    from harness.campaign.stored import Seed

NIGHTS = folder_option("nights", "The folder that contains the nights' folders.")
HISTORY = click.option(
    "--history",
    "results",
    type=click.Path(path_type=Path, dir_okay=False),
    help="An SQLite file with the results of all nights; created if it does not exist.",
)
ALLOW_UNKNOWN = click.option("--allow-unknown", is_flag=True, help="Do not count an unknown run as an error.")


def _campaign_file(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """Read the path of a campaign file, or the name of one that ships."""
    from harness.core.paths import as_seen_from_here, shipped_files
    from harness.spec.reading import in_folder

    file = as_path(context, option, path)
    if file is None or file.exists():
        return file
    ship = in_folder(shipped_files("campaigns"))
    return as_seen_from_here(ship[str(file)]) if str(file) in ship else file


class _CampaignGroup(click.Group):
    """`campaign FILE` is short for `campaign run FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        from checkers.text.nearest import nearest

        if args and args[0] not in {*self.commands, "-h", "--help"}:
            is_misspelled = nearest(args[0], self.commands) is not None and not Path(args[0]).exists()
            args = args if is_misspelled else ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_CampaignGroup, short_help="Run many targets, every night.")
def campaign() -> None:
    """Run many targets, every night: `fencepost campaign FILE` is short for `fencepost campaign run FILE`.

    `fencepost campaign --dry-run FILE` only prints the plan: what would run, for how long, and what cannot
    run here. `fencepost campaign run --help` has all options.
    """


def _shard(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    from harness.campaign.schedule import parse_shard

    try:
        return parse_shard(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@campaign.command(short_help="Run a campaign.")
@click.argument("file", type=click.Path(path_type=Path), callback=_campaign_file)
@ENGINE
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Number of runs at once. Default: what the file says."
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Make the runs on Dask workers that have the resource 'engine' (needs Dask).",
)
@click.option("--shard", callback=_shard, metavar="K/N", help="Run only this part; it is the same each time.")
@click.option("--resume", is_flag=True, help="Resume the latest night; runs that have ended are kept.")
@click.option(
    "--dry-run", is_flag=True, help="Only print what would run, for how long, and what cannot run here."
)
@click.option("--fail-fast", is_flag=True, help="Start no run after the first violation.")
@ALLOW_UNKNOWN
@HISTORY
@NIGHTS
@format_option("a document per finished run on stdout, one per line; everything else on stderr.")
def run(dry_run: bool, output: str, **chosen: Any) -> int:
    """Run every cell of a campaign file, and say what is new, fixed or flaky since earlier nights.

    FILE is a campaign file, or the name of one that ships: `local` needs Python alone, `nightly` Docker.
    """
    import random

    from harness.cli.run_campaign import CampaignOptions, dry, run_campaign

    options = CampaignOptions(**chosen, json=output == "json", command=tuple(sys.argv[1:]))
    return dry(options, random.Random()) if dry_run else run_campaign(options, random.SystemRandom())


@campaign.command(short_help="Join the shards of a campaign.")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--campaign",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    callback=_campaign_file,
    help="Your campaign file: its quarantine holds, and its `keep` decides which histories are removed."
    " Without it, no failure is quarantined and no history is removed.",
)
@ALLOW_UNKNOWN
@HISTORY
@NIGHTS
def merge(
    folders: Sequence[Path], file: Path | None, allow_unknown: bool, results: Path | None, nights: Path
) -> int:
    """Join the folders of several shards into one night.

    Every history is judged again: what a shard says about its runs does not count, and a difference is
    named. A run without a history is "not judged again", which is unknown (exit code 2). The campaign files
    in the shards are not read.
    """
    from harness.cli.run_campaign import merge_shards

    return merge_shards(folders, file, results, nights, allow_unknown=allow_unknown)


@campaign.command(hidden=True)
@click.argument("servers", type=click.Path(path_type=Path), required=False)
@ENGINE
def worker(servers: Path | None, engine: Literal["auto", "docker", "local"]) -> None:
    """Make the runs that a campaign asks for on stdin; SERVERS: a folder for servers that they share."""
    from harness.cli.campaign_worker import make_runs

    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what classes of the user print is no answer
        make_runs(engine, servers, sys.stdin, answers)


STORED = click.option(
    "--history",
    "results",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="The SQLite file with the results of all nights.",
)


@campaign.command(short_help="Judge the stored histories again.")
@STORED
def recheck(results: Path) -> int:
    """Judge every stored history again, and name each run that is judged differently.

    It compares verdicts, anomalies with their counts, and fingerprints. Use it after an upgrade. It changes
    nothing that is stored; the exit code is 1 if a run is judged differently.
    """
    from harness.campaign.recheck_history import recheck as judged_again
    from harness.cli.run_campaign import opened

    found = []
    for each in judged_again(opened(results)):
        found.append(bool(each.changes))
        if each.changes:
            show(str(each))
    if not found:
        say(f"{results} has no stored history")
        return ExitCode.NOTHING_SELECTED
    show(f"{found.count(False)} of {len(found)} runs are unchanged")
    return ExitCode.VIOLATION if any(found) else ExitCode.AS_EXPECTED


@campaign.command(short_help="Print how to repeat every known failure.")
@STORED
@click.option(
    "--targets",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the target files into this folder: those of earlier nights may be gone.",
)
def seeds(results: Path, targets: Path | None) -> None:
    """Print the fastest failing run of every fingerprint, with the command that repeats it."""
    from harness.cli.run_campaign import opened
    from harness.report.first_finding import is_of_older_form
    from harness.report.sentences import times

    known = opened(results).seeds()
    if not known:
        say(f"{results}: no run has failed")
    for seed in known:
        passed = f"passed {times(seed.passed)}" if seed.passed else "never passed"
        form = " (of an earlier version)" if is_of_older_form(seed.fingerprint) else ""
        rate = f"failed {times(seed.failed)}, {passed} since"
        show(f"{seed.fingerprint}{form}  {seed.cell}, {seed.seconds:.0f} s, {rate}")
        show(*(f"  {line}" for line in _repeated(seed, targets)))


def _repeated(seed: Seed, targets: Path | None) -> Iterator[str]:
    """Yield the command that repeats a seed, by its target file in a folder if there is one, and notes."""
    from harness.cli.trust import is_in_recorded_run
    from harness.spec.executed import NOTHING

    file = _written(targets, seed) if targets else None
    if seed.replay is None:
        yield "what is stored for it is not a single command of fencepost, so it is not shown"
        return
    if file is None and _has_changed(seed):
        yield "its target file is not the one that failed: --targets DIR writes that one"
        return
    again = seed.replay.run_again(seed.target, file or "")
    where = file or Path(seed.replay.target)
    if again.unknown == NOTHING or is_in_recorded_run(where):  # `run` asks there, and nowhere else
        yield str(again.command)
    else:
        yield f"read {where} before you run it:"
    yield from again.notes()


def _has_changed(seed: Seed) -> bool:
    """Would the stored command run another target than the stored one? Not if its file is gone."""
    from harness.core.errors import HistoryError
    from harness.files import received
    from harness.spec.reading import MAX_SIZE

    file = Path(seed.replay.target) if seed.replay else Path()
    try:
        found = received.read(file.parent, file.name, most=MAX_SIZE)
    except HistoryError:
        return True
    return found is not None and found != seed.target.encode()


def _written(folder: Path, seed: Seed) -> Path:
    from harness.core.errors import ConfigurationError
    from harness.files import received
    from harness.spec.reading import MAX_SIZE

    name, text = f"{seed.cell}-{seed.fingerprint}.toml", seed.target.encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if received.read(folder, name, most=MAX_SIZE) != text:
            with received.created(folder, name) as file:
                file.write(text)
    except OSError as error:
        raise ConfigurationError(f"{folder / name} cannot be written: {error.strerror}") from None
    return folder / name

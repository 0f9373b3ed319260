"""A campaign on the command line: plan it, run it with a line for each event, and sum it up."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from harness.campaign import campaign_file, canary, corpus, outputs, schedule
from harness.campaign.assessment import Assessment, in_force
from harness.campaign.campaign import CampaignRunner, workers_here
from harness.campaign.campaign_file import Campaign
from harness.campaign.cells import CampaignCell, expand
from harness.campaign.dask_executor import DaskExecutor
from harness.campaign.execution import TARGETS
from harness.campaign.issues import annotate, append_summary, issues, warn
from harness.campaign.merge import merge
from harness.campaign.night import Night, NightPlan
from harness.campaign.results import Results
from harness.campaign.schedule import Job
from harness.campaign.shrinking import Shrinking
from harness.campaign.summary import headline, lines, markdown
from harness.cli.campaign_screen import CampaignScreen, clock, live
from harness.cli.trust import require_trust
from harness.core.errors import FencepostError
from harness.core.exit_codes import ExitCode, of_error, of_several
from harness.core.invocation import typed
from harness.core.paths import as_seen_from_here
from harness.core.printing import pass_on, say, show
from harness.engines.choice import EngineName, choose
from harness.engines.engine import Engine
from harness.files.environment import git_commit, tested_commit
from harness.report.sentences import count
from harness.run.engine_fit import refusal
from harness.spec.executed import Executed, executed_here
from harness.spec.reading import load, load_text

_MOST_NEXT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """The options of the command line."""

    file: Path
    engine: EngineName
    workers: int | None
    shard: tuple[int, int] | None
    resume: bool
    fail_fast: bool
    allow_unknown: bool
    results: Path | None
    nights: Path
    json: bool
    dask: str | None
    command: tuple[str, ...]


def dry(options: CampaignOptions, rng: random.Random) -> int:
    """Print the runs of a campaign in their order, how long each takes, and which cannot run here."""
    campaign = campaign_file.load(options.file)
    engine = None if options.dask else choose(options.engine, say)
    selected = _selected(options, campaign, rng, engine)
    jobs = selected.jobs
    workers = options.workers or campaign.workers or workers_here()
    for job in jobs:
        show(f"{clock(job.expected):>8}  {job.cell}, run {job.repeat}")
    expected = sum(job.expected for job in jobs) // workers
    budget = f", of a budget of {clock(campaign.budget)}" if campaign.budget else ""
    show(f"{count(len(jobs), 'run')}, {workers} at once: about {clock(expected)}{budget}")
    if jobs and not any(schedule.fits(job, 0, campaign.budget) for job in jobs):
        shortest = min(job.expected for job in jobs)
        why = f"no run fits into that: the shortest takes about {clock(shortest)}; set a longer one"
        show(campaign.at(("budget",), why))
    if not jobs:
        return ExitCode.NOTHING_SELECTED
    return _unable(selected, engine) if engine else ExitCode.AS_EXPECTED


def _unable(selected: _Selected, engine: Engine) -> ExitCode:
    """Print the cells that cannot run on this machine, with the reason, and return the code of their runs."""
    names: dict[str, list[str]] = {}
    codes = [ExitCode.AS_EXPECTED]
    planned = {job.cell for job in selected.jobs}
    for cell in selected.cells:
        if cell.name not in planned:
            continue
        if error := _refusal(cell, engine):
            names.setdefault(str(error), []).append(cell.name)
            codes.append(of_error(error))
    for why, cells in names.items():
        show(f"cannot run here, engine {engine.name}: {why}", *(f"  {name}" for name in cells))
    return of_several(codes)


def _refusal(cell: CampaignCell, engine: Engine) -> FencepostError | None:
    return refusal(load_text(cell.source, cell.name), engine)


def run_campaign(options: CampaignOptions, rng: random.Random) -> int:
    """Run a campaign, or resume its latest night."""
    campaign = campaign_file.load(options.file)
    results = _writable(options.results)
    if options.resume:
        night = Night.latest(options.nights, campaign.name)
        _check_targets(night, campaign)
    else:
        night = _planned(options, campaign, rng)
    if not night.plan.jobs:
        return ExitCode.NOTHING_SELECTED
    for executed in _executed(campaign):  # a run of a night's target asks, and the user wrote these
        executed.trust()
    try:
        return _made(options, campaign, night, results)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted", f"go on with: {resumed(options.command)}") from None


def _check_targets(night: Night, campaign: Campaign) -> None:
    """Raise ConfigurationError if a night would execute what the campaign file does not name.

    The night's folder may come from a stranger; the campaign file, and what has run here, are the user's own.
    """
    own = _executed(campaign)
    for cell in night.plan.cells:
        file = night.path / TARGETS / f"{cell.name}.toml"
        executed = executed_here(load(file))
        if executed not in own:
            require_trust(executed, file, trust=False, remedy="start a new night, without --resume")


def _executed(campaign: Campaign) -> list[Executed]:
    return [executed_here(load_text(cell.source, cell.name)) for cell in expand(campaign).cells]


def _made(options: CampaignOptions, campaign: Campaign, night: Night, results: Results | None) -> int:
    """Make the open runs of a night, sum it up, and return the exit code."""
    screen = CampaignScreen(
        sys.stderr if options.json else sys.stdout,
        documents=options.json,
        quarantine=in_force(campaign.quarantine, datetime.now(UTC).date()),
    )
    with night.in_use():
        night.adopt()
        elsewhere = DaskExecutor(options.dask) if options.dask else None
        workers = options.workers or (elsewhere.workers if elsewhere else campaign.workers or workers_here())
        screen.write(
            f"{campaign.name}: {len(night.open_jobs())} of {len(night.plan.jobs)} runs to make,"
            f" {workers} at once, engine {night.plan.engine}, in {as_seen_from_here(night.path)}"
        )
        work = CampaignRunner(
            night,
            workers=workers,
            budget=campaign.budget,
            fail_fast=options.fail_fast,
            notify=screen.show,
            executor=elsewhere,
        )
        try:
            with live(screen):
                left = work.run()
            if campaign.shrink is not None:
                _shrink(campaign, night, work, results, screen, with_servers=elsewhere is None)
        except KeyboardInterrupt:
            outputs.write(night, results, allow_unknown=options.allow_unknown, ended=False)
            raise
        assessment, code = outputs.write(night, results, allow_unknown=options.allow_unknown)
    _sum_up(screen, assessment, night, left)
    _on_github(screen, assessment, night, allow_unknown=options.allow_unknown)
    return code


def _shrink(
    campaign: Campaign,
    night: Night,
    work: CampaignRunner,
    results: Results | None,
    screen: CampaignScreen,
    *,
    with_servers: bool,
) -> None:
    """Shrink one run of each fingerprint that no earlier night has shown, and the corpus does not have."""
    stored = Path(campaign.corpus) if campaign.corpus else None
    known = results.fingerprints(before=night.plan.started) if results else frozenset()
    Shrinking(
        night=night,
        limit=campaign.shrink or 0,
        left=lambda: work.left,
        known=known | (corpus.fingerprints(stored) if stored else frozenset()),
        with_servers=with_servers,
        corpus=stored,
        notify=screen.write,
    ).run(outputs.assessed(night, results))


def merge_shards(
    folders: Sequence[Path], campaign: Path | None, results: Path | None, nights: Path, *, allow_unknown: bool
) -> int:
    """Join shards into one night, judge it again, and sum it up."""
    known = _writable(results)
    say(f"joining {count(len(folders), 'shard')}; each history is judged again")
    night = merge(folders, nights, campaign)
    assessment, code = outputs.write(night, known, allow_unknown=allow_unknown)
    screen = CampaignScreen(sys.stdout, documents=False)
    _sum_up(screen, assessment, night, night.open_jobs())
    _on_github(screen, assessment, night, allow_unknown=allow_unknown)
    return code


def _writable(file: Path | None) -> Results | None:
    """Open the results, and fail before anything is run if they could not be stored afterwards."""
    if file is None:
        return None
    results = opened(file)
    results.check_writable()
    return results


def opened(file: Path) -> Results:
    """Open the results of all nights, and say if other users can change them."""
    results = Results(file)
    if results.exposed:
        say(results.exposed)
    return results


def resumed(command: Sequence[str]) -> str:
    """Return the command that resumes the night of another one."""
    words = [word for word in command if word != "--resume"]
    return typed(*words[:1], "--resume", *words[2 if words[1] == "run" else 1 :])


def _planned(options: CampaignOptions, campaign: Campaign, rng: random.Random) -> Night:
    engine = choose(options.engine, say)
    selected = _selected(options, campaign, rng, None if options.dask else engine)
    plan = NightPlan(
        campaign=campaign.name,
        file=str(options.file.absolute()),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        engine=engine.name,
        fencepost=metadata.version("fencepost"),
        git_commit=git_commit(),
        tested_commit=tested_commit(),
        shard="/".join(map(str, options.shard)) if options.shard else "",
        canary=selected.canary,
        cells=[cell for cell in selected.cells if cell.name in {job.cell for job in selected.jobs}],
        jobs=list(selected.jobs),
    )
    return Night.create(options.nights, plan, options.file.read_text(encoding="utf-8-sig"))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Selected:
    """What a night will run: the cells of the file, and its canary."""

    cells: tuple[CampaignCell, ...]
    jobs: tuple[Job, ...]
    canary: str  # "": none


def _selected(
    options: CampaignOptions, campaign: Campaign, rng: random.Random, engine: Engine | None
) -> _Selected:
    """Select the runs of a night, on an engine of this machine; None: elsewhere."""
    expansion = expand(campaign)
    for sentence in expansion.empty:
        say(sentence)
    if not expansion.cells:
        say("no target was selected")
    now = datetime.now(UTC)
    has_canary = options.shard is None or options.shard[0] == 1  # of several shards, the first one

    def can_run(bug: str) -> bool:
        return engine is None or not any(_refusal(cell, engine) for cell in canary.cells(bug))

    bug = canary.chosen(campaign, now.date(), can_run) if has_canary else ""
    planted = canary.cells(bug) if bug and expansion.cells else ()
    known = options.results is not None and options.results.exists()
    started = now.isoformat(timespec="seconds")
    past = Results(options.results).past(before=started) if options.results and known else {}
    first = schedule.jobs(planted, seeds=None, repeat=1, past=past, rng=rng)
    stored = corpus.seeds(Path(campaign.corpus)) if campaign.corpus else {}
    if campaign.corpus and not stored:
        say(f"the corpus {campaign.corpus} has no entries; `fencepost corpus add RUN` adds one")
    jobs = schedule.jobs(
        expansion.cells, seeds=campaign.seeds, repeat=campaign.repeat, past=past, known=stored, rng=rng
    )
    jobs = schedule.shard(jobs, *options.shard) if options.shard else jobs
    return _Selected(cells=(*planted, *expansion.cells), jobs=(*first, *jobs), canary=bug if planted else "")


def _sum_up(screen: CampaignScreen, assessment: Assessment, night: Night, left: Sequence[Job]) -> None:
    """Print how the night went, and where everything is."""
    screen.write("")
    for line in lines(assessment):
        screen.write(line)
    if left:
        expected = clock(sum(job.expected for job in left))
        screen.write(f"{count(len(left), 'run')} not made, which would take about {expected}; the next:")
    for job in left[:_MOST_NEXT]:
        screen.write(f"  {job.cell}, run {job.repeat}, seed {job.seed}")
    screen.write(f"{assessment.plan.campaign}: {headline(assessment)}")
    folder = as_seen_from_here(night.path)
    files = {"folder": "", "page": outputs.PAGE, "summary": outputs.SUMMARY, "JUnit": outputs.JUNIT}
    for name, file in files.items():
        screen.write(f"  {name:<10} {folder / file}")


def _on_github(screen: CampaignScreen, assessment: Assessment, night: Night, *, allow_unknown: bool) -> None:
    """Add the night to the job's summary, and annotate the lines of its files, if a workflow runs it."""
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            append_summary(Path(file), markdown(night, assessment))
        except OSError as error:
            say(f"the job's summary stays as it is: {file}: {error.strerror}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        commands = annotate(issues(night, assessment), outputs.repository(), allow_unknown=allow_unknown)
        pass_on((f"{command}\n" for command in (*commands, *warn(assessment))), screen.stream)

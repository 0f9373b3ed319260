"""Shrink a run, and print what is left of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from harness.cli.progress import progress
from harness.cli.selection import history_of
from harness.cli.trust import require_trust
from harness.core.duration import format_duration
from harness.core.errors import ConfigurationError
from harness.core.invocation import Repetition, again, typed
from harness.core.paths import as_seen_from_here, can_be_entered
from harness.core.printing import say, show
from harness.engines.choice import EngineName, choose
from harness.files import received, run_files, run_folder
from harness.files.atomic_files import replace_file, replacement
from harness.files.environment import repetition_here, repetition_in
from harness.files.run_folder import RunFolder
from harness.processes import import_path
from harness.report.first_finding import Finding
from harness.report.sentences import count
from harness.run.recheck import judge_file
from harness.shrink.excerpt import smallest
from harness.shrink.smaller_target import SmallerTarget
from harness.spec.executed import ADD_TRUST, executed_in
from harness.spec.reading import load_text

RUNS = "minimal-runs"


def shrink_history(run: Path) -> Finding:
    """Write the smallest excerpt of a run's history, and print and return its finding."""
    run_files.check(run)
    for name in run_folder.MINIMAL:
        if received.is_folder(run, name):
            raise ConfigurationError(
                f"{run / name} is a folder in the place of a file that shrink writes: remove it"
            )
    recorded = history_of(run)
    RunFolder(run).check_whole()
    history, commits = run / run_folder.MINIMAL_HISTORY, run / run_folder.MINIMAL_COMMITS
    log = run / run_folder.COMMITS if run_files.has(run, run_folder.COMMITS) else None
    with progress(sys.stderr) as stage:
        judged = judge_file(recorded, log, stage, same_run=True)
        stage("shrinking the history")
        excerpt = smallest(run, judged)
    finding = excerpt.finding
    needs = f"{count(excerpt.clients, 'client')} and {count(excerpt.faults, 'fault')}"
    if excerpt.stands_alone:
        _keep(history, excerpt.history)
        if excerpt.commits is not None:
            _keep(commits, excerpt.commits)
        again = (history,) if excerpt.commits is None else (history, "--commits", commits)
        recorded_operations = count(len(judged.history.operations), "operation")
        size = f"This finding needs only {excerpt.operations:,} of {recorded_operations}, {needs}:"
    else:
        again = (run,)
        size = (
            f"{count(excerpt.operations, 'operation')}, {needs}, not shrunk: no part of it shows this finding"
            " outside the run's folder:"
        )
    show(
        size,
        f"  {finding['summary']}",
        *([f"    {' '.join(finding['story'])}"] if finding.get("story") else []),
        *(f"    {number}. {step}" for number, step in enumerate(finding["steps"], start=1)),
    )
    words = (each if isinstance(each, str) else as_seen_from_here(each) for each in again)
    show(f"  judge again  {typed('recheck', *words)}")
    return finding


def trusted_target(run: Path, *, trust: bool) -> tuple[str | None, Repetition]:
    """Return the text of a run's target, and where its programs and classes are found.

    That is where the run found them, or else here. The file is not read again: it may be another one by then.

    Raises ConfigurationError if its target would execute there what this user has neither run nor trusts.
    """
    recorded = repetition_in(run)
    is_here = Path(recorded.folder).is_absolute() and can_be_entered(recorded.folder)
    place = replace(recorded, options=()) if is_here else repetition_here((), own_code=True)
    text = run_files.text(run, run_files.TARGET)
    if text is not None:  # without it, there is nothing to run
        executed = executed_in(load_text(text, run_files.TARGET), place)
        require_trust(
            executed, run, trust=trust, remedy=f"{ADD_TRUST}, or --no-runs to shrink only its history"
        )
    return text, place


def shrink_target(
    run: Path,
    finding: Finding,
    engine: EngineName,
    trusted: tuple[str | None, Repetition],
    *,
    repeat: int,
    seconds: float,
) -> None:
    """Run ever smaller targets; write the smallest that still shows the finding, and print it.

    `trusted` is the target, and where its programs are found. Raises as `run` does, if a run cannot be made.
    """
    text, place = trusted
    seed = run_files.document(run, run_folder.HEADER).get("seed")
    if text is None or not isinstance(seed, int):
        missing = run_files.TARGET if text is None else f"seed in {run_folder.HEADER}"
        raise ConfigurationError(f"{run} has no {missing} to run again: give --no-runs")
    smaller = SmallerTarget(
        text=text,
        name=run_files.TARGET,
        finding=finding,
        seed=seed,
        engine=choose(engine, say),
        runs=run / RUNS,
        deadline=time.monotonic() + seconds,
        notify=lambda line: show(f"  {line}"),
    )
    show("", "running ever smaller targets:")
    try:
        with import_path.found_in(place.folder, place.python_path):
            smaller.shrink()
            shown, made = smaller.measure(repeat)
    finally:
        replace_file(run / run_folder.MINIMAL_TARGET, [smaller.source])
        if smaller.plan is not None:
            replace_file(run / run_folder.MINIMAL_PLAN, [smaller.plan.read_text(encoding="utf-8")])
    if smaller.plan is None:
        show(f"No run showed {finding['anomaly']} again: {run_folder.MINIMAL_TARGET} is the whole target")
        return
    target = smaller.target
    seen = f"in {shown} of {made} runs" if made else "once; the time was up before it could run more often"
    show(
        f"The smallest target that still fails has {count(target.workload.clients, 'client')},"
        f" {count(target.workload.resources, 'resource')} and {count(len(target.faults), 'fault')}, and takes"
        f" {format_duration(target.workload.duration)}: it showed {finding['anomaly']} {seen}",
        f"  run again    {_run_again(run, place)}",
    )


def _run_again(run: Path, place: Repetition) -> str:
    target, plan = run / run_folder.MINIMAL_TARGET, run / run_folder.MINIMAL_PLAN
    if place == repetition_here((), own_code=True):
        return typed("run", as_seen_from_here(target), "--plan", as_seen_from_here(plan))
    return str(again(target, None, replace(place, options=("--plan", str(plan)))))


def _keep(file: Path, lines: Iterable[bytes]) -> None:
    """Write a file of the run's folder; a link that came with the folder is replaced, not followed."""
    with replacement(file) as new:
        new.writelines(lines)

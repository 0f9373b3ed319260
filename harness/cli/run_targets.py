"""Run several targets, one after another: each is printed as it runs, and all share one exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import click

from checkers.document import VerdictDocument
from checkers.printable import message
from checkers.redaction import redacted
from harness.core.errors import ConfigurationError, FencepostError, ResourceExhaustedError
from harness.core.events import RunJudged, RunStarted
from harness.core.exit_codes import ExitCode, of_error, of_several, of_verdict
from harness.core.invocation import typed
from harness.core.paths import as_seen_from_here
from harness.engines.engine import Engine
from harness.files.environment import repetition_in
from harness.files.run_folder import EVENTS
from harness.report.console import Console, console
from harness.report.verdict_text import JudgedRun, Line, summary, verdict_lines
from harness.run.deployment import passwords
from harness.run.runner import RunOptions, run
from harness.target import Target


def run_all(
    targets: Sequence[Target],
    engine: Engine,
    options: RunOptions,
    *,
    text: TextIO | None,
    judged: Callable[[VerdictDocument], None],
) -> ExitCode:
    """Run targets in order, and return their common exit code.

    An error in one is printed, and the next one runs; an interrupt ends them all.
    `judged` gets each verdict document as soon as it is known.
    """
    codes: list[ExitCode] = []
    finished: list[JudgedRun] = []
    with console(text) as screen:
        for target in targets:
            if codes:
                screen.write([Line("")])
            try:
                for judged_run in _run(target, engine, options, screen):
                    judged(judged_run.document)
                    finished.append(judged_run)
                    codes.append(of_verdict(judged_run.document, interrupted=judged_run.interrupted))
            except (FencepostError, KeyboardInterrupt) as error:
                screen.clear()
                said = redacted(str(error), _passwords(target)) or "interrupted"
                codes.append(of_error(error))
                kind = "infrastructure failure: " * (codes[-1] is ExitCode.INFRASTRUCTURE)
                click.echo(message(f"{target.name}: {kind}{said}"), err=True)
            if ExitCode.INTERRUPTED in codes:
                break
        if len(targets) > 1:
            screen.write([Line(""), *summary(finished, [target.name for target in targets])])
    return of_several(codes)


def _passwords(target: Target) -> tuple[str, ...]:
    try:
        return passwords(target)
    except ConfigurationError:  # this was the error itself
        return ()


def _run(target: Target, engine: Engine, options: RunOptions, screen: Console) -> Iterator[JudgedRun]:
    """Run one target, and yield its verdict once; its servers stop when the iterator resumes."""
    started: RunStarted | None = None
    printed = False
    try:
        with closing(run(target, engine, replace(options, notify=screen.show))) as events:
            for event in events:
                screen.show(event)
                match event:
                    case RunStarted():
                        started = event
                    case RunJudged():
                        judged_run = _judged_run(target, event, started)
                        screen.write(verdict_lines(judged_run))
                        printed = True
                        yield judged_run
    except (KeyboardInterrupt, ResourceExhaustedError) as error:
        if (
            started is None
            or (printed and not isinstance(error, ResourceExhaustedError))
            or not _has_events(started.folder)
        ):
            raise
        again = typed("recheck", as_seen_from_here(started.folder))
        if isinstance(error, ResourceExhaustedError):
            raise ResourceExhaustedError(
                f"{error}; then judge the recording with: {again}", error.errno
            ) from None
        raise KeyboardInterrupt(
            f"interrupted before the verdict; judge the recording with: {again}"
        ) from None


def _judged_run(target: Target, judged: RunJudged, started: RunStarted | None) -> JudgedRun:
    return JudgedRun(
        target=target.name,
        document=judged.document,
        history=judged.history,
        folder=as_seen_from_here(judged.folder),
        report=as_seen_from_here(judged.report) if judged.report.exists() else None,
        seed=started.seed if started else None,
        repetition=repetition_in(judged.folder),
        interrupted=judged.interrupted,
    )


def _has_events(folder: Path) -> bool:
    return any((folder / EVENTS).glob("*.jsonl"))

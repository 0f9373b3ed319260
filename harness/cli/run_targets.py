"""Run several targets, one after another: each is printed as it runs, and all share one exit code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TextIO

from checkers.text.redaction import redacted
from checkers.vocabulary.document import VerdictDocument
from harness.core.errors import (
    ConfigurationError,
    FencepostError,
    InfrastructureError,
    ResourceExhaustedError,
)
from harness.core.events import RunJudged, RunStarted
from harness.core.exit_codes import ExitCode, of_error, of_several, of_verdict
from harness.core.invocation import typed
from harness.core.paths import as_seen_from_here
from harness.core.printing import say
from harness.engines.engine import Engine
from harness.files.environment import repetition_here
from harness.report import unjudged
from harness.report.console import Console, console
from harness.report.lines import StyledLine
from harness.report.verdict_text import JudgedRun, headline, table, verdict_lines
from harness.run.deployment import passwords
from harness.run.runner import RunOptions, run
from harness.spec import Target
from harness.spec.executed import depends_on_folder


def run_all(
    targets: Sequence[Target],
    engine: Engine,
    options: RunOptions,
    *,
    verbose: bool = False,
    text: TextIO | None,
    judged: Callable[[VerdictDocument], None],
    failed: Callable[[str], None] | None = None,
) -> ExitCode:
    """Run targets in order, and return their common exit code.

    An error in one is printed, and the next one runs; an interrupt ends them all. Of several runs, those
    that end as expected are one line each, unless it is `verbose`.
    `judged` gets each verdict document as soon as it is known, and `failed` the sentence of each error.
    """
    codes: list[ExitCode] = []
    finished: list[JudgedRun] = []
    with console(text) as screen:
        for target in targets:
            if codes:
                screen.write([StyledLine("")])
            try:
                for seen in _run(target, engine, options, screen):
                    code = of_verdict(seen.document, interrupted=seen.interrupted)
                    if len(targets) > 1 and code is ExitCode.AS_EXPECTED and not verbose:
                        screen.write([headline(seen)])
                    else:
                        screen.write(verdict_lines(seen, verbose=verbose, width=screen.width))
                    judged(seen.document)
                    finished.append(seen)
                    codes.append(code)
            except (FencepostError, KeyboardInterrupt) as error:
                screen.clear()
                codes.append(of_error(error))
                kind = "infrastructure failure: " * (codes[-1] is ExitCode.INFRASTRUCTURE)
                first, *others = _said(error, target)
                say(f"{target.name}: {kind}{first}", *others, *getattr(error, "__notes__", ()))
                if failed:
                    failed(redacted(sentence_of(error), _passwords(target)))
            if ExitCode.INTERRUPTED in codes:
                break
        if len(targets) > 1:
            screen.write([StyledLine(""), *table(finished, [target.name for target in targets])])
    return of_several(codes)


def sentence_of(error: FencepostError | KeyboardInterrupt) -> str:
    """What went wrong, without the advice and the log lines that follow it."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return error.sentence if isinstance(error, InfrastructureError) else error.lines[0]


def _said(error: FencepostError | KeyboardInterrupt, target: Target) -> tuple[str, ...]:
    known = _passwords(target)
    lines = error.lines if isinstance(error, FencepostError) else ("interrupted",)
    return tuple(redacted(line, known) for line in lines)


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
                        printed = True
                        yield judged_run(event)
    except (FencepostError, KeyboardInterrupt) as error:
        if started is not None and not printed:
            _leave_word(error, started, target, options.again)
        elif started is not None and isinstance(error, ResourceExhaustedError):
            error.add_note(f"  then judge it again: {typed('recheck', as_seen_from_here(started.folder))}")
        raise


def _leave_word(
    error: FencepostError | KeyboardInterrupt, started: RunStarted, target: Target, again: tuple[str, ...]
) -> None:
    """Say what a run without a verdict leaves behind: in the error's notes, and on a page in its folder."""
    run = unjudged.Unjudged(
        target=target.name,
        seed=started.seed,
        folder=started.folder,
        interrupted=isinstance(error, KeyboardInterrupt),
        why=_said(error, target),
        how=repetition_here(again, own_code=depends_on_folder(target)),
    )
    with contextlib.suppress(OSError, ResourceExhaustedError):  # a full disk may be why it failed
        unjudged.write(run)
    for line in unjudged.lines(run):
        error.add_note(line)


def judged_run(judged: RunJudged) -> JudgedRun:
    """Return a judged run as it is printed."""
    shown = JudgedRun.of(as_seen_from_here(judged.folder), judged.document, judged.history)
    return replace(shown, interrupted=judged.interrupted)

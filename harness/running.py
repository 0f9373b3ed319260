"""Several targets, one after the other: each told as it goes, and all in one exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import click

import checkers
from checkers import History
from checkers.printable import message
from checkers.redaction import redacted
from harness.column_folder import column_folder
from harness.engines import Engine
from harness.errors import ConfigurationError, FencepostError, NoRoomError
from harness.events import RunJudged, RunStarted
from harness.exit_codes import ExitCode, of_error, of_several, of_verdict
from harness.invocation import typed
from harness.paths import as_seen_from_here
from harness.report.console import Console, console
from harness.report.groups import explained
from harness.report.telling import Line, Telling, summary, tell
from harness.run import RunOptions, run
from harness.store import EVENTS, HISTORY
from harness.target import Target
from harness.wiring import passwords


def run_all(
    targets: Sequence[Target],
    engine: Engine,
    options: RunOptions,
    *,
    text: TextIO | None,
    judged: Callable[[dict[str, Any]], None],
) -> ExitCode:
    """Run targets in their order, and give the exit code of them all.

    What goes wrong with one is told, and the next has its turn; an interruption ends them all.
    `judged` gets each verdict document as soon as it is known.
    """
    codes: list[ExitCode] = []
    told: list[Telling] = []
    with console(text) as screen:
        for target in targets:
            if codes:
                screen.write([Line("")])
            try:
                for telling in _run(target, engine, options, screen):
                    judged(dict(telling.document))
                    told.append(telling)
                    codes.append(of_verdict(telling.document, interrupted=telling.interrupted))
            except (FencepostError, KeyboardInterrupt) as error:
                screen.clear()
                said = redacted(str(error), _passwords(target)) or "interrupted"
                codes.append(of_error(error))
                kind = "infrastructure failure: " * (codes[-1] is ExitCode.INFRASTRUCTURE)
                click.echo(message(f"{target.name}: {kind}{said}"), err=True)
            if ExitCode.INTERRUPTED in codes:
                break
        if len(targets) > 1:
            screen.write([Line(""), *summary(told, [target.name for target in targets])])
    return of_several(codes)


def _passwords(target: Target) -> tuple[str, ...]:
    try:
        return passwords(target)
    except ConfigurationError:  # that is what went wrong
        return ()


def _run(target: Target, engine: Engine, options: RunOptions, screen: Console) -> Iterator[Telling]:
    """Run one target, and yield its verdict once; its servers go down when it is asked for more."""
    started: RunStarted | None = None
    told = False
    try:
        with closing(run(target, engine, replace(options, notify=screen.show))) as events:
            for event in events:
                screen.show(event)
                match event:
                    case RunStarted():
                        started = event
                    case RunJudged():
                        telling = _telling(target, event, started, options.again)
                        screen.write(tell(telling))
                        told = True
                        yield telling
    except (KeyboardInterrupt, NoRoomError) as error:
        if (
            started is None
            or (told and not isinstance(error, NoRoomError))
            or not _has_events(started.folder)
        ):
            raise
        again = typed("recheck", as_seen_from_here(started.folder))
        if isinstance(error, NoRoomError):
            raise NoRoomError(f"{error}; then judge what was recorded with: {again}", error.errno) from None
        raise KeyboardInterrupt(
            f"interrupted before it was judged; judge what it saw with: {again}"
        ) from None


def _telling(
    target: Target, judged: RunJudged, started: RunStarted | None, again: tuple[str, ...]
) -> Telling:
    return Telling(
        target=target.name,
        document=judged.document,
        history=_history(judged),
        folder=as_seen_from_here(judged.folder),
        report=as_seen_from_here(judged.report) if judged.report.exists() else None,
        seed=started.seed if started else None,
        options=again,
        interrupted=judged.interrupted,
    )


def _has_events(folder: Path) -> bool:
    return any((folder / EVENTS).glob("*.jsonl"))


def _history(judged: RunJudged) -> History | None:
    """Read what the faults behind the findings are told from; a clean run is told without."""
    if not explained(judged.document):
        return None
    return checkers.read(judged.folder / HISTORY, cache=column_folder())

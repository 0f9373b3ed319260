"""Search for a violation, and print each run in a line; the failing one in full."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TextIO

from checkers.document import VerdictDocument
from harness.cli.run_targets import judged_run
from harness.core.events import Event, Notice
from harness.core.exit_codes import ExitCode, of_several, of_verdict
from harness.core.invocation import typed
from harness.core.paths import as_seen_from_here
from harness.engines.engine import Engine
from harness.files import run_files
from harness.files.run_folder import PLAN
from harness.report.console import Console, Screen, console
from harness.report.sentences import counted
from harness.report.verdict_text import Line, Tone, verdict_lines
from harness.run.runner import RunOptions
from harness.search.closeness import VIOLATED, described
from harness.search.search import Tried, search
from harness.target import Target


def search_and_print(
    target: Target,
    engine: Engine,
    options: RunOptions,
    *,
    seconds: float,
    text: TextIO | None,
    judged: Callable[[VerdictDocument], None],
) -> ExitCode:
    """Run a target until a violation; `judged` gets the verdict of each run."""
    codes: list[ExitCode] = []
    began = time.monotonic()
    with console(text) as screen:
        options = replace(options, notify=lambda event: _show(screen, event))
        with closing(search(target, engine, options, seconds=seconds)) as runs:
            for tried in runs:
                screen.clear()
                judged(tried.judged.document)
                codes.append(of_verdict(tried.judged.document))
                screen.write([Line(_line(tried, time.monotonic() - began))])
        screen.write([Line(""), *_end(target, tried, engine)])
    return codes[-1] if tried.closeness == VIOLATED else of_several(codes)


def _show(screen: Console, event: Event) -> None:
    """Without a terminal, a run of the search is one line."""
    if isinstance(screen, Screen) or isinstance(event, Notice):
        screen.show(event)


def _line(tried: Tried, seconds: float) -> str:
    how = "a changed plan" if tried.changed else "its own plan"
    left = "" if tried.left is None else f", about {tried.left:.0f} left"
    return (
        f"run {tried.number}, {seconds:.0f} s, seed {tried.seed}, {how}: {described(tried.closeness)}; "
        f"closest so far: {described(tried.best)}; {tried.new} new behaviors{left}"
    )


def _end(target: Target, tried: Tried, engine: Engine) -> list[Line]:
    folder = as_seen_from_here(tried.judged.folder)
    if tried.closeness == VIOLATED:
        replay = typed("run", folder / run_files.TARGET, "--plan", folder / PLAN, "--engine", engine.name)
        shrink = typed("shrink", folder)
        return [
            *verdict_lines(judged_run(target, tried.judged, tried.seed)),
            Line(f"  replay       {replay}", Tone.FAINT),
            Line(f"  shrink       {shrink}", Tone.FAINT),
        ]
    why = "runs show nothing new any more" if tried.is_last else "the time is over"
    return [Line(f"no violation in {counted(tried.number, 'run')}: {why}")]

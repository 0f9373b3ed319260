"""Search for a violation, and print each run in a line; the failing one in full."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TextIO

from checkers.vocabulary.document import VerdictDocument
from harness.cli.run_targets import judged_run
from harness.core.duration import NS
from harness.core.events import Event, Notice, Progress
from harness.core.exit_codes import ExitCode, of_several, of_verdict
from harness.core.invocation import typed
from harness.core.paths import as_seen_from_here
from harness.engines.engine import Engine
from harness.files import run_files
from harness.files.run_folder import PLAN
from harness.report.console import Console, Screen, console
from harness.report.lines import LineTone, StyledLine
from harness.report.sentences import count
from harness.report.verdict_text import verdict_lines
from harness.run.runner import RunOptions
from harness.search.search import VIOLATED, Tried, described, search
from harness.spec import Target

EVERY = 10  # seconds


@dataclass(slots=True)
class SearchProgress:
    """Prints a line for each finished run; without a terminal, also one every ten seconds of a run."""

    screen: Console
    clock: Callable[[], float] = time.monotonic  # seconds
    tried: Tried | None = None  # the last finished run
    began: float = field(init=False)
    printed: float = field(init=False)  # when the last line was

    def __post_init__(self) -> None:
        self.began = self.printed = self.clock()

    def show(self, event: Event) -> None:
        """Take in one event of a run; a terminal shows them all."""
        if isinstance(self.screen, Screen) or isinstance(event, Notice):
            self.screen.show(event)
        elif isinstance(event, Progress) and self.clock() >= self.printed + EVERY:
            number = self.tried.number + 1 if self.tried else 1
            best = f"; closest so far: {described(self.tried.best)}" if self.tried else ""
            clock = f"{event.elapsed / NS['s']:.0f} s of {event.duration / NS['s']:.0f} s"
            self._print(f"  run {number}, {self.clock() - self.began:.0f} s: {clock}{best}")

    def finished(self, tried: Tried) -> None:
        """Print the line of a finished run."""
        self.tried = tried
        self._print(_line(tried, self.clock() - self.began))

    def _print(self, text: str) -> None:
        self.printed = self.clock()
        self.screen.write([StyledLine(text)])


def search_and_print(
    target: Target,
    engine: Engine,
    options: RunOptions,
    *,
    seconds: float,
    verbose: bool,
    text: TextIO | None,
    judged: Callable[[VerdictDocument], None],
) -> ExitCode:
    """Run a target until a violation; `judged` gets the verdict of each run."""
    codes: list[ExitCode] = []
    with console(text) as screen:
        progress = SearchProgress(screen)
        options = replace(options, notify=progress.show)
        with closing(search(target, engine, options, seconds=seconds)) as runs:
            for tried in runs:
                screen.clear()
                judged(tried.judged.document)
                codes.append(of_verdict(tried.judged.document))
                progress.finished(tried)
        screen.write([StyledLine(""), *_end(tried, engine, verbose=verbose, width=screen.width)])
    return codes[-1] if tried.closeness == VIOLATED else of_several(codes)


def _line(tried: Tried, seconds: float) -> str:
    how = "a changed plan" if tried.changed else "its own plan"
    left = "" if tried.left is None else f", about {tried.left:.0f} left"
    return (
        f"run {tried.number}, {seconds:.0f} s, seed {tried.seed}, {how}: {described(tried.closeness)}; "
        f"closest so far: {described(tried.best)}; {tried.new} new behaviors{left}"
    )


def _end(tried: Tried, engine: Engine, *, verbose: bool, width: int) -> list[StyledLine]:
    folder = as_seen_from_here(tried.judged.folder)
    if tried.closeness == VIOLATED:
        replay = typed("run", folder / run_files.TARGET, "--plan", folder / PLAN, "--engine", engine.name)
        shrink = typed("shrink", folder)
        return [
            *verdict_lines(judged_run(tried.judged), verbose=verbose, width=width),
            StyledLine(f"replay       {replay}", LineTone.COMMAND, 2),
            StyledLine(f"shrink       {shrink}", LineTone.COMMAND, 2),
        ]
    why = "new behavior has dried up" if tried.dried_up else "the time was up"
    return [
        StyledLine(f"no violation in {count(tried.number, 'run')}: {why}"),
        StyledLine(f"  {tried.seen}", LineTone.FAINT),
    ]

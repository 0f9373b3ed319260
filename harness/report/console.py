"""A run on the console: a live screen on a terminal, otherwise a plain line every ten seconds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console as RichConsole
from rich.console import Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from checkers.text.printable import line as as_line
from checkers.text.printable import shorten
from checkers.vocabulary.fault_kinds import named
from harness.core.duration import NS
from harness.core.events import Event, FaultObserved, Notice, Progress, RunJudged, RunStarted, StageReached
from harness.core.paths import as_seen_from_here
from harness.core.printing import show
from harness.nemesis.faults import FAULTS
from harness.report.lines import WIDTH, LineTone, StyledLine

PLAIN_EVERY = 10 * NS["s"]

STYLES = {
    LineTone.GOOD: "bold green",
    LineTone.BAD: "bold red",
    LineTone.UNSURE: "bold yellow",
    LineTone.PLAIN: "",
    LineTone.FAINT: "dim",
    LineTone.COMMAND: "",
}


@contextmanager
def console(out: TextIO | None) -> Iterator[Console]:
    """Choose the console for a stream, and restore the terminal at the end of the block.

    `out` is None if the stream was closed before Python started: then nothing is printed.
    """
    if out is None:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123 (no path of ours)
            yield PlainConsole(nowhere)
    elif out.isatty() and os.environ.get("TERM") != "dumb":
        screen = Screen.on(out)
        try:
            yield screen
        finally:
            screen.clear()
    else:
        yield PlainConsole(out)


@dataclass(slots=True)
class PlainConsole:
    """Lines for a pipe, a file or a CI log."""

    out: TextIO
    printed: int = 0  # ns of the workload; when the last line about it was printed
    width: int = WIDTH

    def show(self, event: Event) -> None:
        """Print the events that deserve a line."""
        match event:
            case RunStarted():
                where = as_seen_from_here(event.folder)
                self._print(f"{event.target}: engine {event.engine}, seed {event.seed}, {where}")
                self.printed = 0
            case StageReached() if event.stage != "stopping":  # the verdict has been printed
                self._print(f"  {event.stage}: {event.detail}" if event.detail else f"  {event.stage}")
            case Progress() if event.elapsed - self.printed >= PLAIN_EVERY:
                self.printed = event.elapsed - event.elapsed % PLAIN_EVERY
                self._print(f"  {_clock(event)}: {'; '.join(filter(None, [_counts(event), _faults(event)]))}")
            case Notice():
                self._print(f"  note: {event.text}")
            case _:
                pass  # the run folder has each fault; the verdict is written as lines

    def write(self, lines: Iterable[StyledLine]) -> None:
        """Print lines as they are; the reader's pager wraps them."""
        for line in lines:
            self._print(str(line))

    def clear(self) -> None:
        """Nothing to clear."""

    def _print(self, text: str) -> None:
        show(text, to=self.out)


@dataclass(slots=True)
class Screen:
    """A picture that is redrawn below the permanent lines."""

    rich: RichConsole
    live: Live | None = None
    run: RunStarted | None = None
    stage: StageReached | None = None
    progress: Progress | None = None
    last_fault: FaultObserved | None = None
    spinner: Spinner | None = None

    @classmethod
    def on(cls, out: TextIO) -> Screen:
        """Draw on this terminal. NO_COLOR is respected by rich."""
        return cls(RichConsole(file=out, highlight=False, markup=False, emoji=False))

    @property
    def width(self) -> int:
        """That of the terminal, unless it is wider than people read."""
        return min(WIDTH, self.rich.width)

    def show(self, event: Event) -> None:
        """Remember the event; the picture is drawn a few times a second."""
        match event:
            case RunStarted():
                self.run, self.stage, self.progress, self.last_fault = event, None, None, None
                self._open()
            case StageReached():
                self.stage = event
            case Progress():
                self.progress = event
            case FaultObserved():
                self.last_fault = event
            case Notice():
                self.write([StyledLine(f"note: {event.text}", LineTone.FAINT)])
            case RunJudged():
                self.clear()

    def write(self, lines: Iterable[StyledLine]) -> None:
        """Print lines above the picture: prose wraps at words, commands are left whole."""
        for line in lines:
            text = Text(as_line(line.text), style=STYLES[line.tone])
            if line.tone is LineTone.COMMAND or not line.text:
                self.rich.print(Text(" " * line.indent) + text, soft_wrap=True)
            else:
                self.rich.print(Padding(text, (0, 0, 0, line.indent), expand=False))

    def clear(self) -> None:
        """Remove the picture."""
        if self.live:
            self.live.stop()
            self.live = None

    def _open(self) -> None:
        self.clear()
        self.spinner = Spinner("dots")
        self.live = Live(
            get_renderable=self._picture,
            console=self.rich,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,  # it may be the pipe that the verdict goes to
            redirect_stderr=False,
        )
        self.live.start()

    def _picture(self) -> RenderableType:
        run, stage = self.run, self.stage
        title = f"{run.target} · {run.engine} · seed {run.seed}" if run else ""
        reached = ": ".join(filter(None, [stage.stage, stage.detail])) if stage else "starting"
        rows: list[RenderableType] = [_row(title, "bold"), _beside(self.spinner or "", _row(reached))]
        if self.progress:
            bar = ProgressBar(total=self.progress.duration, completed=self.progress.elapsed)
            rows.append(Padding(bar, 0))  # a bar alone does not end its line
            rows.append(_row(f"{_clock(self.progress)} · {_counts(self.progress)}"))
            rows.append(_row(_faults(self.progress) or "no fault now"))
        if self.last_fault:
            rows.append(_row(_observed(self.last_fault), "dim"))
        return Group(*rows)


Console = PlainConsole | Screen
"""Prints a run's progress, and its verdict afterwards."""


def _row(text: str, style: str = "") -> RenderableType:
    """Make a row that never takes two: the picture must not jump on a narrow terminal."""
    return Text(shorten(text), style=style, no_wrap=True, overflow="ellipsis")


def _beside(left: RenderableType, right: RenderableType) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_row(left, right)
    return grid


def _clock(progress: Progress) -> str:
    return f"{progress.elapsed / NS['s']:.0f} s of {progress.duration / NS['s']:.0f} s"


def _counts(progress: Progress) -> str:
    return (
        f"{progress.operations:,} operations, writes {progress.writes_accepted:,} accepted, "
        f"{progress.writes_refused:,} refused"
    )


def _faults(progress: Progress) -> str:
    """Such as "client 4 is paused"."""
    hit = (fault.partition(" ") for fault in progress.faults)
    return ", ".join(f"{named(target)} {FAULTS[kind].words.now}" for kind, _, target in hit)


def _observed(fault: FaultObserved) -> str:
    words = FAULTS[fault.kind].words
    what = words.now if fault.state == "in force" else words.afterwards
    since = f"since {fault.elapsed / NS['s']:.1f} s"
    return f"{named(fault.target)} {what} {since}; observed: {fault.evidence}"

"""A campaign on the screen: a line for each run that ends; on a terminal, also what is in progress."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from checkers.text.printable import line as as_line
from harness.campaign.assessment import run_of
from harness.campaign.campaign import CampaignProgress
from harness.campaign.campaign_file import Quarantine
from harness.campaign.document import finished_document
from harness.campaign.execution import Finished
from harness.campaign.schedule import Job
from harness.campaign.status import RunOutcome
from harness.core.duration import NS
from harness.core.printing import show, show_document

_MOST_FINDINGS = 5
_PER_SECOND = 2  # frames


@dataclass(slots=True)
class CampaignScreen:
    """What is known about a campaign in progress; `live` draws it on a terminal."""

    stream: TextIO
    documents: bool  # print each run on stdout as well, as JSON
    quarantine: Mapping[str, Quarantine] = field(default_factory=dict)  # by fingerprint
    clock: Callable[[], int] = time.monotonic_ns
    progress: CampaignProgress | None = None
    at: int = 0  # when `progress` was reported, as the clock has it
    begun: dict[str, int] = field(default_factory=dict)  # when each run in progress was first seen
    findings: dict[str, tuple[str, int]] = field(default_factory=dict)  # fingerprint → sentence, runs
    live: Live | None = None

    def write(self, line: str) -> None:
        """Print a permanent line above the picture."""
        if self.live:
            self.live.console.print(as_line(line), markup=False, highlight=False, soft_wrap=True)
        else:
            show(line, to=self.stream)

    def show(self, event: Finished | CampaignProgress) -> None:
        """Take in one event."""
        match event:
            case CampaignProgress():
                self.progress, self.at = event, self.clock()
                self.begun = {job.id: self.begun.get(job.id, self.at) for job in event.running}
            case Finished():
                self._finished(event)

    def _finished(self, finished: Finished) -> None:
        run = run_of(finished, self.quarantine)
        if run.fingerprint and not finished.job.reproduction:
            _, times = self.findings.get(run.fingerprint, ("", 0))
            known = " (quarantined)" if run.quarantine else ""
            self.findings[run.fingerprint] = (f"{finished.job.cell}{known}: {run.headline}", times + 1)
        found = "" if run.outcome is RunOutcome.PASSED else f": {run.headline}"
        self.write(
            f"{self._counted()}  {_named(finished.job)}: {run.outcome} in {finished.seconds:.0f} s{found}"
        )
        if self.documents:
            show_document(finished_document(run))

    def _counted(self) -> str:
        """Say how many runs have ended, and how long the others will take."""
        if self.progress is None:
            return ""
        done, left = self.progress.done, self.progress.left
        return f"{done}/{done + left}, {self._to_go(self.progress)}"

    def _to_go(self, progress: CampaignProgress) -> str:
        """Say how long the runs that are left, and the repetitions of failed ones, will take."""
        expected = progress.expected - (self.clock() - self.at)
        if progress.is_over:
            return f"{clock(0)} to go"
        time_left = f"{clock(expected)} to go" if expected > 0 else "longer than expected"
        return time_left if progress.left else f"repeating failures, {time_left}"

    def picture(self) -> Group:
        """Draw the runs in progress, and the findings so far."""
        found = [
            Text(as_line(f"  ×{times} {sentence}"), style="red", no_wrap=True, overflow="ellipsis")
            for sentence, times in list(self.findings.values())[-_MOST_FINDINGS:]
        ]
        return Group(self._table(), *found)

    def _table(self) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        table.add_column(no_wrap=True, overflow="ellipsis")
        table.add_column(no_wrap=True)
        if self.progress is None:
            return table
        table.add_row(
            f"{self.progress.done} done, {self.progress.left} left, {self.progress.failed} failed",
            self._to_go(self.progress),
            style="bold",
        )
        for job in self.progress.running:
            took = self.clock() - self.begun[job.id]
            table.add_row(as_line(f"  {_named(job)}"), f"{clock(took)} of about {clock(job.expected)}")
        return table


@contextmanager
def live(screen: CampaignScreen) -> Iterator[None]:
    """Draw the picture on a terminal for as long as the block lasts, then remove it."""
    if not screen.stream.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return

    with Live(
        get_renderable=screen.picture,
        console=Console(file=screen.stream, highlight=False, markup=False, emoji=False),
        refresh_per_second=_PER_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    ) as drawn:
        screen.live = drawn
        try:
            yield
        finally:
            screen.live = None


def clock(ns: int) -> str:
    """Write a length of time as a clock does: 1:05:07."""
    seconds = round(ns / NS["s"])
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _named(job: Job) -> str:
    again = f", again {job.reproduction}" if job.reproduction else ""
    return f"{job.cell}, run {job.repeat}{again}"

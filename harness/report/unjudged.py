"""A run that ended without a verdict: what is in its folder, and what to do with it.

The terminal and a small page in the folder say the same; the page is for anyone who finds the folder
later. If the recording is judged after all, the report replaces the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.core.invocation import Repetition, typed, typed_anywhere
from harness.core.paths import as_seen_from_here
from harness.files import received, run_files
from harness.files.atomic_files import replace_file
from harness.files.known_digests import remember_page
from harness.files.run_folder import EVENTS, HEADER, LOGS, PLAN, RunFolder
from harness.report import junit
from harness.report.run import NAME, PACKAGE, STYLE, asset, digest, environment
from harness.report.run_again import run_folder_again

_MEANINGS = {
    run_files.TARGET: "the target that was run",
    HEADER: "the target's name, the seed and what was expected",
    run_files.ENVIRONMENT: "versions, the engine, and how the run was started",
    PLAN: "the planned faults, and which of them were observed",
    EVENTS: "what the clients recorded",
    LOGS: "the output of servers and clients",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unjudged:
    """A run without a verdict."""

    target: str
    seed: int
    folder: Path
    interrupted: bool  # False: the infrastructure failed
    why: tuple[str, ...]  # the lines of an error
    how: Repetition

    @property
    def recorded(self) -> bool:
        """Did any client record anything?"""
        return RunFolder(self.folder).recorded() > 0

    @property
    def headline(self) -> str:
        """What happened, in a few words."""
        return "interrupted before the verdict" if self.interrupted else "infrastructure failure"

    @property
    def consequence(self) -> str:
        """What was recorded, and what that means."""
        if self.recorded:
            return "The clients recorded operations until then, which can still be judged."
        return "No client recorded an operation, so there is nothing to judge; you can delete the folder."

    @property
    def files(self) -> Iterator[tuple[str, str]]:
        """The files of its folder, and what each is."""
        for name, meaning in _MEANINGS.items():
            if received.is_folder(self.folder, name):
                inside = [each for each in received.listed(self.folder, name) if self._has(name, each)]
                if inside:
                    yield f"{name}/", f"{meaning}: {', '.join(inside)}"
            elif self._has(name):
                yield name, meaning

    def _has(self, *names: str) -> bool:
        return received.size_of(self.folder, *names) > 0

    @property
    def commands(self) -> Iterator[tuple[str, str]]:
        """What to do next, and the command for it."""
        if self.recorded:
            yield "Judge what was recorded", typed_anywhere("recheck", self.folder)
        if not self.interrupted:
            yield "Check this machine", typed_anywhere("doctor")
        if self._has(run_files.TARGET):
            yield "Run it again", str(run_folder_again(self.folder, self.seed, self.how).command)


def lines(run: Unjudged) -> Iterator[str]:
    """The same as lines for the terminal."""
    folder = as_seen_from_here(run.folder)
    yield f"  {run.consequence}"
    yield f"  run folder   {folder} (no verdict; it has {', '.join(name for name, _ in run.files)})"
    if run.recorded:
        yield f"  judge it     {typed('recheck', folder)}"


def write(run: Unjudged) -> Path:
    """Write its page and its junit.xml into its folder, and return the path of the page."""
    junit.write_unjudged(run.folder, run.target, run.seed, run.headline, run.why)
    style, report = asset(PACKAGE, STYLE), run.folder / NAME
    template = environment(PACKAGE).get_template("unjudged.html.j2")
    html = template.render(run=run, style=style, style_hash=digest(style))
    replace_file(report, [html])
    remember_page(html)
    return report

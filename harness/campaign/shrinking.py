"""The new failures of a night, shrunk: `fencepost shrink`, for one run of each new fingerprint.

Each takes a process of its own, as a run does. What that printed is `minimal.txt` in the folder of the
run once it has ended: a night that is resumed does not shrink the run again. At the end of the budget
it is interrupted, and keeps the smallest target so far.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from checkers.text import limits
from harness.campaign import corpus, execution
from harness.campaign.assessment import AssessedRun, Assessment
from harness.campaign.canary import is_canary
from harness.campaign.execution import LOGS
from harness.campaign.night import Night
from harness.core.duration import NS
from harness.core.errors import ConfigurationError
from harness.core.exit_codes import ExitCode
from harness.files import received
from harness.files.atomic_files import replace_file

OUTPUT = "minimal.txt"
_REPEAT = 10  # runs of the smallest target
_SHOWN = 4096  # characters of a file that may be from another machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrinking:
    """How the new failures of a night are shrunk."""

    night: Night
    limit: int  # ns; of each failure
    left: Callable[[], int | None]  # what is left of the budget (ns); None: there is none
    known: AbstractSet[str]  # fingerprints of earlier failures
    with_servers: bool  # False: shrink only the histories
    corpus: Path | None  # where the results are kept, too
    notify: Callable[[str], None]

    def run(self, assessment: Assessment) -> None:
        """Shrink a run of each new fingerprint, one after another, within the budget.

        KeyboardInterrupt ends the process at work, and is raised again.
        """
        for run in self._new(assessment):
            left = self.left()
            if left is not None and left <= 0:
                self.notify(f"not shrunk, the budget is used up: {run.headline}")
                continue
            self.notify(f"shrinking: {run.headline}")
            self.notify(f"  {self._shrink(run, left)}")

    def _new(self, assessment: Assessment) -> Iterator[AssessedRun]:
        """Yield the fastest run of each fingerprint that is neither known nor quarantined."""
        fastest: dict[str, AssessedRun] = {}
        for run in assessment.runs:
            shape = run.fingerprint
            if shape is None or shape in self.known or run.quarantine or is_canary(run.finished.job.cell):
                continue
            if run.finding is None:
                continue
            if shape not in fastest or run.finished.seconds < fastest[shape].finished.seconds:
                fastest[shape] = run
        yield from (run for run in fastest.values() if sentence(self.night, run) is None)

    def _shrink(self, run: AssessedRun, left: int | None) -> str:
        """Shrink one run, and say what came of it."""
        folder = _folder(self.night, run)
        log = self.night.path / LOGS / f"{run.finished.job.id}-shrink.log"
        code, printed = self._made(self._command(run, folder, left), log, left)
        if code not in {ExitCode.AS_EXPECTED, ExitCode.INTERRUPTED} or not printed.strip():
            return f"this failed: see {log}"
        replace_file(folder / OUTPUT, [printed])
        return f"{sentence(self.night, run)}{self._keep(folder)}"

    def _command(self, run: AssessedRun, folder: Path, left: int | None) -> list[str]:
        """Return the command; the last run that it starts still ends in time."""
        most = self.limit if left is None else min(self.limit, left)
        seconds = most / NS["s"] - run.finished.seconds
        command = ["shrink", str(folder), "--engine", self.night.plan.engine]
        if self.with_servers and seconds > 0:
            return [*command, "--repeat", str(_REPEAT), "--max-time", f"{seconds:.3f}s"]
        return [*command, "--no-runs"]

    def _made(self, command: list[str], log: Path, left: int | None) -> tuple[int, str]:
        """Run a command until the budget is used up; return its exit code, and what it printed."""
        process = execution.started(command, log)
        try:
            printed, _ = process.communicate(timeout=None if left is None else left / NS["s"])
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as ended:
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate()
            if isinstance(ended, KeyboardInterrupt):
                raise
        return process.returncode, printed.decode(errors="replace")

    def _keep(self, folder: Path) -> str:
        """Add a run to the corpus, and say where it is."""
        if self.corpus is None:
            return ""
        try:
            return f"; kept in {corpus.add(folder, self.corpus)}"
        except ConfigurationError as error:
            return f"; not kept in the corpus: {error}"


def sentence(night: Night, run: AssessedRun) -> str | None:
    """Say what is left of a run that was shrunk; None if it was not."""
    if run.finished.folder is None:
        return None
    printed = received.read(_folder(night, run), OUTPUT, most=limits.DOCUMENT)
    if printed is None:
        return None
    shown = printed[:_SHOWN].decode(errors="replace")
    said = [line for line in shown.splitlines() if line and line[0] != " "]
    ends = [line for line in said[1:] if not line.endswith(":")]
    return ". ".join([*(line.removesuffix(":") for line in said[:1]), *ends])


def _folder(night: Night, run: AssessedRun) -> Path:
    return night.path / (run.finished.folder or "")

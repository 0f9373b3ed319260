"""Judge the stored histories of all nights again: which verdicts has an upgrade changed?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from checkers.errors import HistoryError
from harness.campaign.results import Results, Stored
from harness.files.run_folder import COMMITS, HISTORY
from harness.run.recheck import judge_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudged:
    """A stored run, and its verdict now."""

    run: Stored
    verdict: str | None  # None: it can no longer be read
    error: str = ""

    @property
    def is_changed(self) -> bool:
        """Does the verdict differ from the stored one?"""
        return self.verdict != self.run.verdict

    def __str__(self) -> str:
        now = self.verdict or f"cannot be read: {self.error}"
        return f"{self.run.cell}, seed {self.run.seed}, {self.run.started}: {now}, was {self.run.verdict}"


def recheck(results: Results) -> Iterator[Rejudged]:
    """Judge every stored history again. The stored data is not changed."""
    for run in results.stored():
        with TemporaryDirectory() as temporary:
            history, commits = Path(temporary) / HISTORY, Path(temporary) / COMMITS
            history.write_bytes(run.history)
            if run.commits is not None:
                commits.write_bytes(run.commits)
            try:
                judged = judge_file(history, None if run.commits is None else commits, same_run=True)
            except HistoryError as error:
                yield Rejudged(run=run, verdict=None, error=str(error))
            else:
                yield Rejudged(run=run, verdict=judged.document.verdict)

"""Links from a night's page to existing reports and logs, relative to its folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from harness.campaign.execution import LOGS
from harness.core.paths import is_file
from harness.files.run_folder import MINIMAL
from harness.report.run import NAME as REPORT


@dataclass(frozen=True, slots=True)
class Links:
    """Links relative to the folder of a night; "" if there is no such file."""

    night: Path

    def report(self, run: str | None) -> str:
        """Link to the report of a run, whose folder is absolute or within the night."""
        return self._link(self.night / run / REPORT) if run else ""

    def minimal(self, run: str | None) -> tuple[tuple[str, str], ...]:
        """Link to the files that shrinking a run has left, each with its name."""
        files = ((name, self._link(self.night / run / name)) for name in MINIMAL) if run else ()
        return tuple((name, link) for name, link in files if link)

    def log(self, job: str) -> str:
        """Link to what a run printed."""
        return self._link(self.night / LOGS / f"{job}.log")

    def _link(self, file: Path) -> str:
        return quote(os.path.relpath(file, self.night)) if is_file(file) else ""

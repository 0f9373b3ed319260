"""Where the files of the repository are."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
HISTORIES = ROOT / "tests" / "histories"

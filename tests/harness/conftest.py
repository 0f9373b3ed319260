"""A folder for client processes."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where clients log and record, as a run has it."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "events").mkdir()
    return tmp_path

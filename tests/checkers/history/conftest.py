"""A history that the tests of columns share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.events import event, history_file


@pytest.fixture
def two_registers(tmp_path: Path) -> Path:
    """On each register a write, and a read that is called when the write returns."""
    return history_file(
        tmp_path / "history.jsonl",
        event(1, "invoke", 0, "r0", "v0"),
        event(1, "invoke", 1, "r1", "v1"),
        event(2, "ok", 0, "r0", "v0"),
        event(2, "invoke", 2, "r0"),
        event(2, "ok", 1, "r1", "v1"),
        event(2, "invoke", 3, "r1"),
        event(3, "ok", 2, "r0", None),
        event(4, "ok", 3, "r1", None),
    )

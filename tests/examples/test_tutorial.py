"""The tutorial: every file is saved, and every command prints what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.console_blocks import follow, shell
from tests.support.repository import ROOT


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.timeout(1200)  # it repeats a run that was not exercised
def test_each_command_of_the_tutorial_prints_what_the_page_shows(tmp_path: Path) -> None:
    with shell(ROOT, HOME=str(tmp_path)) as opened:
        follow(ROOT / "docs/tutorial.md", opened, tmp_path / "orders")

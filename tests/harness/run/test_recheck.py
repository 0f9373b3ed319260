"""Progress of a recheck."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from harness.cli.progress import progress
from harness.run.recheck import recheck
from tests.support.simulation import Simulation
from tests.support.waiting import PATIENCE


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_current_stage_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()

    with progress(screen) as stage:
        stage("reading history.jsonl")
        stage("judging 12 operations")

    clear = "\r\x1b[K"
    assert screen.getvalue() == f"{clear}reading history.jsonl …{clear}judging 12 operations …{clear}"


def test_without_a_terminal_slow_stages_get_regular_lines() -> None:
    screen = io.StringIO()

    with progress(screen, plain_every=0.01) as stage:
        stage("judging 12 operations")
        deadline = time.monotonic() + PATIENCE
        while screen.getvalue().count("\n") < 2 and time.monotonic() < deadline:
            pass

    assert set(screen.getvalue().splitlines()) == {"judging 12 operations … 0 s"}


def test_without_a_terminal_quick_stages_are_not_shown() -> None:
    screen = io.StringIO()

    with progress(screen) as stage:
        stage("reading history.jsonl")

    assert not screen.getvalue()


def test_each_stage_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(Simulation(seed=1).lines()))
    stages: list[str] = []

    judged = recheck(path, stage=stages.append)

    assert stages == ["reading history.jsonl", f"judging {len(judged.history.operations):,} operations"]

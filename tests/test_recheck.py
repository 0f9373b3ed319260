"""Judging again: what is told while it takes its time."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from simulation import Simulation

from harness.progress import progress
from harness.recheck import recheck


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_what_is_done_now_in_one_line_that_is_gone_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()

    with progress(screen) as stage:
        stage("reading history.jsonl")
        stage("judging 12 operations")

    clear = "\r\x1b[K"
    assert screen.getvalue() == f"{clear}reading history.jsonl …{clear}judging 12 operations …{clear}"


def test_elsewhere_what_takes_long_gets_a_line_now_and_then():
    screen = io.StringIO()

    with progress(screen, plain_every=0.01) as stage:
        stage("judging 12 operations")
        deadline = time.monotonic() + 10
        while screen.getvalue().count("\n") < 2 and time.monotonic() < deadline:
            pass

    assert set(screen.getvalue().splitlines()) == {"judging 12 operations … 0 s"}


def test_elsewhere_nothing_is_shown_of_what_is_quick():
    screen = io.StringIO()

    with progress(screen) as stage:
        stage("reading history.jsonl")

    assert not screen.getvalue()


def test_each_stage_is_told(tmp_path: Path):
    path = tmp_path / "history.jsonl"
    path.write_text("".join(Simulation(seed=1).lines()))
    told: list[str] = []

    judged = recheck(path, stage=told.append)

    assert told == ["reading history.jsonl", f"judging {len(judged.history.operations):,} operations"]

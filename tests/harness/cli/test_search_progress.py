"""What a search prints while its runs go on."""

from __future__ import annotations

import io
from typing import Any

import pytest

from checkers.vocabulary.document import VerdictDocument
from harness.cli.search_run import SearchProgress
from harness.core.events import Notice, Progress
from harness.report.console import PlainConsole
from harness.search.search import Tried

SECOND = 1_000_000_000


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def progress(clock: Clock) -> Any:
    return SearchProgress(PlainConsole(io.StringIO()), clock)


def lines(progress: Any) -> list[str]:
    text: str = progress.screen.out.getvalue()
    return text.splitlines()


def at(seconds: int) -> Progress:
    return Progress(
        elapsed=seconds * SECOND,
        duration=20 * SECOND,
        operations=5,
        writes_accepted=1,
        writes_refused=0,
        faults=(),
    )


def tried(number: int) -> Tried:
    return Tried(
        number=number,
        seed=7,
        changed=False,
        judged=VerdictDocument,  # its content is not printed
        closeness=(1, 2),
        best=(3, 4),
        new=5,
        left=None,
        seen="12 behaviors were seen",
        dried_up=False,
    )


def test_a_run_has_a_line_every_ten_seconds(progress: Any, clock: Clock) -> None:
    for second in range(1, 21):
        clock.now = 100.0 + second
        progress.show(at(second))

    assert lines(progress) == ["  run 1, 10 s: 10 s of 20 s", "  run 1, 20 s: 20 s of 20 s"]


def test_a_line_says_how_close_the_runs_came(progress: Any, clock: Clock) -> None:
    progress.finished(tried(2))
    clock.now += 12
    progress.show(at(11))

    assert lines(progress)[1] == (
        "  run 3, 12 s: 11 s of 20 s; closest so far: a superseded holder wrote (×4)"
    )


def test_a_finished_run_has_a_line_at_once(progress: Any, clock: Clock) -> None:
    progress.finished(tried(1))
    clock.now += 9
    progress.show(at(9))

    (line,) = lines(progress)
    assert line.startswith("run 1, 0 s, seed 7, its own plan: a pause outlived a lease (×2); closest so far")


def test_notices_are_always_shown(progress: Any) -> None:
    progress.show(Notice(text="an image is built"))

    assert lines(progress) == ["  note: an image is built"]

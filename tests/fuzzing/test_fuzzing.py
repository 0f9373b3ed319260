"""A minute of fuzzing, and tests of the fuzzer itself."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzzing import campaign, sandbox
from fuzzing.edits import Edit, edited
from fuzzing.surfaces import SURFACES, Surface
from tests.support.command import ran


@pytest.mark.slow
@pytest.mark.parametrize("surface", SURFACES)
def test_hostile_input_ends_in_a_sentence_and_a_documented_exit_code(surface: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fuzzing", surface, "--seed", "1", "--cases", "20"]

    ended = ran([*command, "--keep", str(tmp_path)])

    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.search(r"(?<!\d)20 cases", ended.stdout)


def endless() -> None:
    while True:
        pass


def asleep() -> int:
    threading.Event().wait(60)
    return 0


def greedy() -> None:
    kept = []
    while True:
        kept.append(bytearray(1 << 26))


def failing() -> int:
    raise KeyError("lost")


def says(text: str) -> Callable[[], int]:
    def say() -> int:
        sys.stdout.write(text)
        return 0

    return say


@pytest.mark.slow
@pytest.mark.parametrize("case", [endless, asleep])
def test_a_case_that_hangs_is_noticed(tmp_path: Path, case: Callable[..., Any]) -> None:
    assert campaign.wrong(sandbox.run(case, tmp_path, longest=3.0, idle=3.0), tmp_path) == "hang"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "why"),
    [
        (greedy, "memory"),
        (failing, "traceback"),
        (lambda: 3, "exit code 3"),
        (says("\x1b[2J"), "text that acts on the terminal or on a CI server"),
        (says("\u202e"), "text that acts on the terminal or on a CI server"),
        (says("x" * 10_000_001), "endless output"),
        (says("fine"), None),
    ],
)
def test_forbidden_behavior_of_a_case_is_noticed(
    tmp_path: Path, case: Callable[..., Any], why: str | None
) -> None:
    assert campaign.wrong(sandbox.run(case, tmp_path, longest=60.0), tmp_path) == why


def test_a_report_over_10_mb_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_bytes(b"x" * 10_000_001)

    assert campaign.wrong(sandbox.run(says("fine"), tmp_path), tmp_path) == "a report over 10 MB"


def test_input_that_fails_is_kept_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Surface(lambda: ({"t.toml": b"a = 1"},), lambda _way: failing())
    monkeypatch.setitem(SURFACES, "broken", broken)

    tally = campaign.campaign(["broken"], 1, tmp_path, cases=3, seconds=None)

    assert tally.cases["broken"] == 3
    assert len(tally.findings) == 1
    (kept,) = tmp_path.iterdir()
    assert "KeyError: 'lost'" in (kept / "WHY").read_text()
    assert (kept / "t.toml").exists()


def test_the_same_seed_draws_the_same_cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def note(_trial: Any, _name: Any, case: Any) -> None:
        drawn.append(case)
        _trial.tally.cases["target"] += 1

    monkeypatch.setattr(campaign.Trial, "__call__", note)
    for _ in range(2):
        campaign.campaign(["target"], 7, tmp_path, cases=20, seconds=None)

    assert len(drawn) == 40
    assert drawn[:20] == drawn[20:]


def test_an_edit_replaces_a_token() -> None:
    edit = Edit(kind="token", place=1, other=0, payload=b"[]")

    assert edited(b'kind = "pause"', [edit]) == b"kind = []"

"""A card as Markdown and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.card.answers import AnsweredQuestion
from harness.card.outputs import JSON, MARKDOWN, Card, write
from harness.card.seen import Seen
from harness.card.series import Experiment, Subject
from harness.cli.make_card import exit_code
from harness.core.exit_codes import ExitCode

SUBJECT = Subject(
    name="mine",
    command="python3 mine.py",
    lock="redis",
    storage="postgres",
    fencing="conditional-update",
    duration="10s",
)


def written(folder: Path) -> Card:
    calm = folder / "runs/mine-calm/1"
    card = Card(
        subject=SUBJECT,
        engine="local",
        began="2026-11-23 16:00 UTC",
        answers=[AnsweredQuestion(key="token", question="token?", word="yes", said="a|b", runs=(calm,))],
        seen=[
            Seen(experiment=Experiment(kind="calm"), folder=calm, verdict="valid"),
            Seen(experiment=Experiment(kind="restart"), failure="redis-1 did not start"),
        ],
    )
    write(card, folder)
    return card


def test_the_row_links_to_the_runs_behind_each_cell(tmp_path: Path) -> None:
    written(tmp_path)

    lines = (tmp_path / MARKDOWN).read_text().splitlines()
    assert lines[0] == "| lock | token? |"
    assert lines[2] == r"| mine | **yes**: `a\x7cb` [1](runs/mine-calm/1/report.html) |"
    assert "- [calm](runs/mine-calm/1/report.html): valid" in lines
    assert "- restart: no verdict: `redis-1` did not start" in lines


def test_the_document_has_the_same_as_data(tmp_path: Path) -> None:
    written(tmp_path)

    document = json.loads((tmp_path / JSON).read_text())
    assert document["schema"] == 1
    assert document["answers"]["token"] == {
        "question": "token?",
        "answer": "yes",
        "said": "a|b",
        "runs": ["runs/mine-calm/1"],
    }
    assert [run["failure"] for run in document["runs"]] == [None, "redis-1 did not start"]


def test_a_name_cannot_break_the_table(tmp_path: Path) -> None:
    card = written(tmp_path)

    write(replace(card, subject=replace(SUBJECT, name="a|b\n| c")), tmp_path)

    assert (tmp_path / MARKDOWN).read_text().splitlines()[2].startswith(r"| `a\x7cb\n\x7c` c |")


@pytest.mark.parametrize(
    ("shown", "code"),
    [
        ([{"grants_with_token": 1}, {}], ExitCode.AS_EXPECTED),
        ([{"grants_without_token": 1}, {"failure": "no room"}], ExitCode.INFRASTRUCTURE),
        ([{}, {}], ExitCode.UNKNOWN),
    ],
)
def test_a_lock_that_was_never_granted_was_not_tested(shown: list[dict[str, Any]], code: ExitCode) -> None:
    assert exit_code([Seen(experiment=Experiment(kind="calm"), **each) for each in shown]) is code

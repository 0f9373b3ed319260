"""The drawing of a double-run: two bars of one job, in the lanes of two clients, at one time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness.report import run as report
from tests.harness.report.browser.conftest import Visitor, drawn
from tests.support.literal_histories import LITERAL, judged
from tests.support.painted import RECORD, Patch, painted

pytestmark = pytest.mark.slow

NAME = "double-run/paused-past-its-lease"


def report_of(name: str, folder: Path) -> Path:
    shutil.copy(LITERAL[name], folder / "history.jsonl")
    (folder / "verdict.json").write_text(json.dumps(judged(name).to_document()))
    return report.write(folder)


def last_mark(words: Patch, patches: list[Patch]) -> float:
    """Where the last of the marks ends that are painted at the height of some words."""
    marks = (each for each in patches if each.kind == "mark")
    return max(each.right for each in marks if each.top < words.bottom and words.top < each.bottom)


def test_two_bars_of_one_job_overlap(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open(report_of(NAME, tmp_path), own_page=True).page
    page.add_init_script(RECORD)
    page.reload()
    drawn(page)

    patches = painted(page)
    first, again = sorted((each for each in patches if each.words == "q0-17"), key=lambda each: each.left)
    accused = next(each for each in patches if each.words == "bar" and again.is_within(each))

    assert first.bottom < accused.top
    assert first.left < accused.left < accused.right < last_mark(first, patches)


def test_a_queue_has_no_lane_of_a_lock_or_a_storage(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open(report_of("double-run/and-its-result-is-stale", tmp_path), own_page=True).page
    page.add_init_script(RECORD)
    page.reload()
    drawn(page)
    of_queue = {each.words for each in painted(page)}

    page.keyboard.press("n")
    page.wait_for_function("window.painted.some(([, words]) => words === 'storage')")
    of_result = {each.words for each in painted(page)}

    assert "client 1" in of_queue & of_result
    assert "storage" in of_result - of_queue
    assert not [words for words in of_queue | of_result if words.startswith("lock")]


def test_hovering_over_a_bar_names_the_job_and_its_attempt(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open(report_of(NAME, tmp_path), own_page=True).page
    page.add_init_script(RECORD)
    page.reload()
    drawn(page)
    name = max((each for each in painted(page) if each.words == "q0-17"), key=lambda each: each.left)
    canvas = page.locator("#lanes").bounding_box()
    assert canvas is not None

    page.mouse.move(canvas["x"] + (name.left + name.right) / 2, canvas["y"] + (name.top + name.bottom) / 2)

    assert "client 2: execute q0-17 on q0, attempt 2" in page.locator("#tip").inner_text()

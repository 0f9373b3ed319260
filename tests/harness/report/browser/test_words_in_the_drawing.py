"""Words in the drawing: none covers another, a step number or anything else, on any screen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import combinations, islice
from pathlib import Path

import pytest
from playwright.sync_api import Page

from harness.run.recheck import recheck
from tests.harness.report.browser.conftest import Visitor, drawn
from tests.support.painted import RECORD, STEP_NUMBER, painted, right_of
from tests.support.recorded_runs import recorded
from tests.support.selection import nightly

pytestmark = pytest.mark.slow

FIRST = 3  # findings of a run
NARROW, WIDE = 74, 112  # pixels, of the names of the lanes


def scenes(page: Page, report: Path) -> Iterator[int]:
    """Show each finding in turn, as a fresh page."""
    for scene in range(1, max(1, page.locator("#scene option").count()) + 1):
        page.goto(f"{report.resolve().as_uri()}?{scene}#finding-{scene}")
        drawn(page)
        yield scene


QUICK = "get-then-del-unlock"


@pytest.mark.parametrize("width", [390, *nightly(320, 1280)])
@pytest.mark.parametrize("name", [QUICK, *nightly(*(name for name in recorded() if name != QUICK))])
def test_words_cover_neither_other_words_nor_a_bar_a_mark_or_a_line(
    visitor: Visitor, reported: Callable[[str], Path], name: str, width: int
) -> None:
    report = reported(name)
    page = visitor.open(report, own_page=True, viewport={"width": width, "height": 800}).page
    page.add_init_script(RECORD)

    for scene in islice(scenes(page, report), FIRST):
        everything = painted(page)
        seen = [each for each in everything if each.kind == "words"]
        in_lanes = right_of(everything, edge=NARROW if width < 560 else WIDE)
        marks = [each for each in in_lanes if each.kind == "mark"]
        words = [each for each in in_lanes if each.kind == "words" and each.words != STEP_NUMBER]
        covered = [(one, other) for one, other in combinations(seen, 2) if one.covers(other)]
        on_marks = {(one.words, other.words) for one in words for other in marks if one.covers(other)}

        assert len(words) > 1
        assert len(marks) > 1
        assert covered == [], scene
        assert on_marks == set(), scene


@pytest.mark.parametrize("width", [*nightly(1280), 390])
@pytest.mark.parametrize("before", ["", "orders-of-the-warehouse-"])
def test_locks_and_storages_of_two_resources_are_labelled_apart(
    visitor: Visitor, recorded_run: Callable[[str], Path], before: str, width: int
) -> None:
    folder = recorded_run("etcd-postgres-unfenced")
    for name in ("history.jsonl", "commits.jsonl"):
        events = map(json.loads, (folder / name).read_text().splitlines())
        renamed = (
            each | ({"resource": before + each["resource"]} if "resource" in each else {}) for each in events
        )
        (folder / name).write_text("".join(json.dumps(event) + "\n" for event in renamed))
    recheck(folder)
    page = visitor.open(folder / "report.html", own_page=True, viewport={"width": width, "height": 800}).page
    page.add_init_script(RECORD)
    page.reload()
    drawn(page)

    page.locator("#resource").select_option("All resources")
    drawn(page)
    names = [each.words for each in painted(page) if each.kind == "words" and each.left < 20]

    assert [name for name in names if name.startswith("lock ") and name.endswith("r0")] != []
    assert [name for name in names if name.startswith("lock ") and name.endswith("r1")] != []
    assert [name for name in names if name.endswith("r1") and not name.startswith("lock")] != []

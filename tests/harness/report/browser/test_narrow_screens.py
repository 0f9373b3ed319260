"""A report on narrow screens: nothing scrolls sideways or breaks, and no words cover others."""

import json
from collections.abc import Iterator
from itertools import combinations, islice
from pathlib import Path

import pytest
from playwright.sync_api import Page

from harness.run.recheck import recheck
from tests.harness.report.browser.conftest import Visitor, drawn
from tests.support.painted import RECORD, STEP_NUMBER, painted, right_of
from tests.support.recorded_runs import Unpack, recorded
from tests.support.selection import nightly

pytestmark = pytest.mark.nightly


def test_no_word_about_the_servers_is_broken(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.open(unfenced).page

    broken = page.evaluate(
        """() => [...document.querySelectorAll(".servers td:not(.long), .servers th")].filter((cell) => {
          const text = document.createRange();
          text.selectNodeContents(cell);
          return !/[\\s/-]/.test(cell.textContent) && text.getClientRects().length > 1;
        }).map((cell) => cell.textContent)"""
    )
    assert page.locator(".servers td").count() > 0
    assert broken == []


@pytest.mark.parametrize("width", [*nightly(390, 375, 360), 320, *nightly(305)])
@pytest.mark.parametrize("name", ["etcd-postgres", "etcd-postgres-unfenced"])
def test_a_narrow_screen_needs_no_sideways_scrolling(
    visitor: Visitor, reported: Unpack, name: str, width: int
) -> None:
    page = visitor.drawing(reported(name), viewport={"width": width, "height": 800})

    assert page.locator("#chooser").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [*nightly(1400, 390), 320])
def test_step_numbers_are_whole_in_the_operations(visitor: Visitor, reported: Unpack, width: int) -> None:
    report = reported("etcd-postgres-unfenced")
    page = visitor.drawing(report, viewport={"width": width, "height": 900})

    badges, clipped, scrolling = page.evaluate(
        """() => {
          const clipped = (badge) => {
            const text = document.createRange();
            text.selectNodeContents(badge);
            const [inner, outer] = [text.getBoundingClientRect(), badge.getBoundingClientRect()];
            const shown = badge.closest(".scroll").getBoundingClientRect();
            return inner.left < outer.left || inner.right > outer.right || outer.left < shown.left
              || inner.height > 22;
          };
          const seen = [...document.querySelectorAll(".scene:not([hidden]) .badge span")];
          const tables = [...document.querySelectorAll(".scene:not([hidden]) .scroll")];
          return [
            seen.map((badge) => badge.textContent),
            seen.filter(clipped).map((badge) => badge.textContent),
            tables.filter((table) => table.scrollHeight > table.clientHeight).map((table) => table.ariaLabel),
          ];
        }"""
    )

    assert any(len(badge) > 2 for badge in badges), badges
    assert clipped == []
    assert scrolling == []


PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}


def test_a_link_at_the_top_leads_to_the_drawing(visitor: Visitor, reported: Unpack) -> None:
    page = visitor.drawing(reported("etcd-postgres-unfenced"), **PHONE)
    link = page.get_by_role("link", name="To the drawing")

    assert link.bounding_box()["y"] < 400  # type: ignore[index] # it is shown
    link.tap()
    page.wait_for_function("document.getElementById('timeline').getBoundingClientRect().top < 100")


@pytest.mark.parametrize("width", [*nightly(390), 360])
@pytest.mark.parametrize(
    "name",
    [
        "failover-without-stonith-twin",  # with long errors
        *nightly("redlock-postgres-clock"),  # with long tokens
    ],
)
def test_phones_show_all_of_each_operation(visitor: Visitor, reported: Unpack, name: str, width: int) -> None:
    page = visitor.drawing(reported(name), viewport={"width": width, "height": 800})

    seen, cut_off = page.evaluate(
        """() => {
          const cells = [...document.querySelectorAll("#rows td, .scene:not([hidden]) .proof td")];
          const outside = (cell) => {
            const words = document.createRange();
            words.selectNodeContents(cell);
            return words.getBoundingClientRect().right > cell.closest(".scroll").getBoundingClientRect().right;
          };
          return [cells.length, cells.filter(outside).map((cell) => cell.textContent)];
        }"""
    )

    assert seen > 100
    assert cut_off == []


@pytest.mark.parametrize("width", [1280, *nightly(1000)])
def test_a_long_error_leaves_other_columns_their_room(visitor: Visitor, reported: Unpack, width: int) -> None:
    report = reported("failover-without-stonith-twin")
    link = "#operations?text=terminated+abnormally"
    page = visitor.open(report, fragment=link, viewport={"width": width, "height": 800}).page

    lines = page.locator("#rows tr:first-child td").evaluate_all(
        """cells => cells.map((cell) => {
          const words = document.createRange();
          words.selectNodeContents(cell);
          return new Set([...words.getClientRects()].map((line) => line.top)).size;
        })"""
    )

    *before, answer, took, of_history = lines
    assert answer > 1
    assert max(*before, took, of_history) == 1
    assert page.locator("#every-operation .scroll").evaluate("each => each.scrollWidth <= each.clientWidth")


def test_a_phone_shows_no_hints_about_keys(visitor: Visitor, reported: Unpack) -> None:
    report_of_run = reported("etcd-postgres-unfenced")
    phone, desk = visitor.open(report_of_run, **PHONE).page, visitor.open(report_of_run).page
    drawn(phone)
    drawn(desk)

    assert phone.locator("#hint").inner_text() == "Tap a number for details."
    assert desk.locator("#hint kbd").first.is_visible()


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
    visitor: Visitor, reported: Unpack, name: str, width: int
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
    visitor: Visitor, recorded_run: Unpack, before: str, width: int
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

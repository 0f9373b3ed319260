"""A report on narrow screens: nothing scrolls sideways, breaks or covers anything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.report.browser.conftest import Visitor, drawn
from tests.support.selection import nightly

pytestmark = pytest.mark.slow


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
    visitor: Visitor, reported: Callable[[str], Path], name: str, width: int
) -> None:
    page = visitor.open(reported(name), viewport={"width": width, "height": 800}).page
    drawn(page)

    assert page.locator("#chooser").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [*nightly(1400, 390), 320])
def test_step_numbers_are_whole_in_the_table_of_operations(
    visitor: Visitor, reported: Callable[[str], Path], width: int
) -> None:
    report = reported("etcd-postgres-unfenced")
    page = visitor.open(report, viewport={"width": width, "height": 900}).page
    drawn(page)

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


def test_a_link_at_the_top_leads_to_the_drawing(visitor: Visitor, reported: Callable[[str], Path]) -> None:
    page = visitor.open(reported("etcd-postgres-unfenced"), **PHONE).page
    drawn(page)
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
def test_a_phone_shows_all_of_each_operation(
    visitor: Visitor, reported: Callable[[str], Path], name: str, width: int
) -> None:
    page = visitor.open(reported(name), viewport={"width": width, "height": 800}).page
    drawn(page)

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
def test_a_long_error_leaves_the_other_columns_their_room(
    visitor: Visitor, reported: Callable[[str], Path], width: int
) -> None:
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


def test_a_phone_shows_no_hints_about_keys(visitor: Visitor, reported: Callable[[str], Path]) -> None:
    report_of_run = reported("etcd-postgres-unfenced")
    phone, desk = visitor.open(report_of_run, **PHONE).page, visitor.open(report_of_run).page
    drawn(phone)
    drawn(desk)

    assert phone.locator("#hint").inner_text() == "Tap a number for details."
    assert desk.locator("#hint kbd").first.is_visible()

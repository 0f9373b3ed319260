"""The page of a night in a browser: a large one, on a desk and on a phone, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.generated_nights import generate
from harness.campaign import outputs
from tests.harness.report.browser.conftest import Visitor
from tests.support.accessibility import serious_findings

DESK = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("nights"), nights=4, runs=130).path / outputs.PAGE


@pytest.mark.parametrize(
    ("scheme", "viewport"),
    [
        pytest.param("light", DESK, id="light-1400", marks=pytest.mark.slow),
        pytest.param("dark", PHONE, id="dark-390"),
        pytest.param("light", PHONE, id="light-390", marks=pytest.mark.slow),
        pytest.param("dark", DESK, id="dark-1400", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing_serious(
    visitor: Visitor, night: Path, scheme: str, viewport: dict[str, int]
) -> None:
    page = visitor.open(night, viewport=viewport, color_scheme=scheme).page
    page.locator("details").evaluate_all("all => all.forEach(each => (each.open = true))")

    assert serious_findings(page) == []


@pytest.mark.parametrize(
    "width", [pytest.param(1400, marks=pytest.mark.slow), pytest.param(390, marks=pytest.mark.slow), 320]
)
def test_the_page_needs_no_sideways_scrolling(visitor: Visitor, night: Path, width: int) -> None:
    page = visitor.open(night, viewport={"width": width, "height": 844}).page

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_twins_are_side_by_side_on_a_phone(visitor: Visitor, night: Path) -> None:
    page = visitor.open(night, viewport=PHONE).page

    rows = page.locator(".twins tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.getBoundingClientRect().right))"
    )

    assert rows
    assert all(len(row) == 3 and max(row) <= PHONE["width"] for row in rows)


def test_it_asks_nobody_for_anything_and_has_no_complaints(visitor: Visitor, night: Path) -> None:
    visit = visitor.open(night)

    assert [url for url in visit.requests if not url.startswith(("file:", "data:"))] == []
    assert visit.complaints == []
    assert visit.page.locator("rect.failed").first.evaluate("e => getComputedStyle(e).fill") == (
        "rgb(200, 16, 46)"
    )

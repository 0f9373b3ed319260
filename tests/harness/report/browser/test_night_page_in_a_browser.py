"""The page of a night in a browser: a large one, on a desk and on a phone, light and dark."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.generated_nights import generate
from harness.campaign import outputs
from harness.campaign.assessment import assess
from harness.campaign.night import Night
from harness.campaign.page import NAME, render
from harness.campaign.page.trend import BY_URGENCY
from harness.core.exit_codes import ExitCode
from tests.harness.report.browser.conftest import Visitor
from tests.support.campaign_runs import TODAY, finished, job, plan
from tests.support.chromium import serious_findings
from tests.support.selection import nightly

pytestmark = pytest.mark.slow

DESK = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("nights"), nights=4, runs=130).path / outputs.PAGE


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A night of cells whose names and storages have nowhere to break."""
    folder = tmp_path_factory.mktemp("long")
    names = (f"the_lock_of_our_own_service_with_its_replica_{letter}" for letter in "ab")
    runs = [finished(job(name), code) for name, code in zip(names, (3, 0), strict=True)]
    made = plan(*(run.job for run in runs))
    made.cells[0] = replace(made.cells[0], lock="zookeeper", storage="postgres:conditional-update")
    assessment = assess(made, runs, before={}, quarantine=(), today=TODAY)
    (folder / NAME).write_text(render(Night(folder, made), assessment, (), ExitCode.AS_EXPECTED))
    return folder / NAME


@pytest.mark.parametrize(
    ("scheme", "viewport"),
    [
        pytest.param("light", DESK, id="light-1400", marks=pytest.mark.nightly),
        pytest.param("dark", PHONE, id="dark-390"),
        pytest.param("light", PHONE, id="light-390", marks=pytest.mark.nightly),
        pytest.param("dark", DESK, id="dark-1400", marks=pytest.mark.nightly),
    ],
)
def test_axe_finds_nothing_serious(
    visitor: Visitor, night: Path, scheme: str, viewport: dict[str, int]
) -> None:
    page = visitor.open(night, viewport=viewport, color_scheme=scheme).page
    page.locator("details").evaluate_all("all => all.forEach(each => (each.open = true))")

    assert serious_findings(page) == []


@pytest.mark.parametrize("width", [*nightly(1400, 390), 320])
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


@pytest.mark.parametrize("table", [".matrix", "#cells ~ .scroll table"])
def test_the_first_status_of_a_row_is_seen_on_a_phone(visitor: Visitor, long_names: Path, table: str) -> None:
    page = visitor.open(long_names, viewport=PHONE).page

    edges = page.locator(f"{table} tbody tr").evaluate_all(
        "rows => rows.map(row => row.querySelector('.signed').getBoundingClientRect().right)"
    )

    assert len(edges) > 1
    assert max(edges) <= PHONE["width"]


def test_it_asks_nobody_for_anything_and_has_no_complaints(visitor: Visitor, night: Path) -> None:
    visit = visitor.open(night)

    assert [url for url in visit.requests if not url.startswith(("file:", "data:"))] == []
    assert visit.complaints == []
    assert visit.page.locator("rect.failed").first.evaluate("e => getComputedStyle(e).fill") == (
        "rgb(200, 16, 46)"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_outcome_has_a_color_of_its_own(visitor: Visitor, night: Path, scheme: str) -> None:
    page = visitor.open(night, color_scheme=scheme).page

    colors = page.locator(".trend").evaluate(
        "(trend, outcomes) => outcomes.map(outcome => {"
        "  const bar = trend.appendChild(document.createElementNS(trend.namespaceURI, 'rect'));"
        "  bar.setAttribute('class', outcome); return getComputedStyle(bar).fill; })",
        [outcome.value for outcome in BY_URGENCY],
    )

    assert len(set(colors)) == len(BY_URGENCY)

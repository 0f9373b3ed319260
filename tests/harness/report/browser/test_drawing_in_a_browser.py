"""The drawing, its steps and the plot of how long calls took, by pointer, finger and keyboard."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from harness.run.recheck import recheck
from tests.harness.report.browser.conftest import Visitor, drawn
from tests.support.chromium import serious_findings
from tests.support.recorded_runs import Unpack
from tests.support.selection import nightly

pytestmark = pytest.mark.slow

DESK = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844}


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).locator("visible=true").first.bounding_box()
    assert found is not None
    return dict(found)


def data(page: Page) -> Any:
    return json.loads(page.locator("#data").text_content() or "")["drawing"]


def painted(page: Page) -> str:
    """The drawing as it is, without scrolling to it."""
    return str(page.evaluate("document.getElementById('lanes').toDataURL()"))


def mark(page: Page, step: int) -> Locator:
    """The badge of the first operation that a step is about."""
    return page.locator(f'.mark[data-steps~="{step}"]').first


def test_the_drawing_is_on_the_first_screen(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.drawing(unfenced, viewport=DESK)

    canvas = box(page, "#lanes")

    assert canvas["y"] + canvas["height"] <= DESK["height"]


def test_no_half_beside_the_steps_is_empty(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.drawing(unfenced, viewport=DESK)

    canvas = box(page, "#lanes")
    places = page.locator(".scene:visible .steps > li").evaluate_all(
        "steps => steps.map((step) => step.getBoundingClientRect().x)"
    )

    assert canvas["width"] > DESK["width"] * 0.9
    assert len(set(places)) == 2
    assert max(places) > DESK["width"] / 2


def test_on_a_phone_the_steps_are_below_the_drawing(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.drawing(unfenced, viewport=PHONE)

    canvas, step = box(page, "#lanes"), box(page, ".steps > li")

    assert step["y"] >= canvas["y"] + canvas["height"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_pointing_at_a_badge_lights_its_steps(page: Page) -> None:
    mark(page, 4).hover()

    expect(page.locator("#finding-1-step-4")).to_have_class("lit")
    expect(page.locator("#tip")).to_contain_text("in step 4–5")


def test_pointing_at_a_step_lights_what_it_is_about_in_the_drawing(page: Page) -> None:
    before = painted(page)

    page.locator("#finding-1-step-4").hover()
    drawn(page)

    assert painted(page) != before


def test_a_badge_that_is_clicked_leads_to_its_step(page: Page) -> None:
    mark(page, 4).click()

    assert page.evaluate("location.hash") == "#finding-1-step-4"
    assert "current" in (page.locator("#finding-1-step-4").get_attribute("class") or "")
    expect(page.locator("#tip")).to_be_visible()


def test_a_step_that_is_clicked_brings_what_it_is_about_into_view(page: Page) -> None:
    page.get_by_role("button", name="Zoom in").click()
    for _ in range(12):
        page.get_by_role("button", name="Zoom in").click()
    drawn(page)

    page.locator("#finding-1-step-4").click()
    drawn(page)

    expect(mark(page, 4)).to_be_visible()
    assert page.evaluate("location.hash") == "#finding-1-step-4"


def test_badges_and_steps_have_the_same_numbers(page: Page) -> None:
    badges = data(page)["scenes"][0]["badges"]

    shown = page.locator(".mark").evaluate_all("marks => marks.map((mark) => mark.dataset.steps)")

    assert sorted(shown) == sorted(" ".join(map(str, badge["steps"])) for badge in badges)


def test_keys_go_to_the_next_and_previous_finding_and_step(page: Page) -> None:
    expect(page.locator("#hint")).to_be_visible()

    visited = []
    for key in ("n", "n", "p", "j", "j", "k"):
        page.keyboard.press(key)
        visited.append(page.evaluate("location.hash"))

    assert visited == [
        "#finding-2",
        "#finding-3",
        "#finding-2",
        "#finding-2-step-1",
        "#finding-2-step-2",
        "#finding-2-step-1",
    ]
    expect(page.locator("#finding-2")).to_be_visible()
    expect(page.locator("#finding-3")).to_be_hidden()


def test_keys_typed_into_a_field_are_not_shortcuts(page: Page) -> None:
    page.locator("#shorten").focus()

    page.keyboard.press("n")

    expect(page.locator("#finding-1")).to_be_visible()


@pytest.mark.parametrize("address", ["#finding-3", "#finding-3-step-2"])
def test_an_address_of_a_finding_opens_it(visitor: Visitor, unfenced: Path, address: str) -> None:
    page = visitor.drawing(unfenced, fragment=address)

    expect(page.locator("#finding-3")).to_be_visible()
    expect(page.locator("#finding-1")).to_be_hidden()
    expect(page.locator("#finding-3 #lanes")).to_be_visible()


def test_an_address_that_changes_on_an_open_page_is_followed(page: Page) -> None:
    page.evaluate("location.hash = '#finding-2-step-1'")

    expect(page.locator("#finding-2")).to_be_visible()
    expect(page.locator("#finding-2-step-1")).to_have_class("lit current")


def test_an_address_of_no_finding_shows_the_first(visitor: Visitor, unfenced: Path) -> None:
    visit = visitor.open(unfenced, fragment="#finding-999")
    drawn(visit.page)

    expect(visit.page.locator("#finding-1")).to_be_visible()
    assert visit.complaints == []


def test_paper_has_every_finding_with_its_steps_and_its_drawing(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.drawing(unfenced, own_page=True)
    findings = page.locator(".scene").count()

    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")

    expect(page.locator(".scene >> visible=true")).to_have_count(findings)
    expect(page.locator(".scene .steps >> visible=true")).to_have_count(findings)
    expect(page.locator(".printed >> visible=true")).to_have_count(findings)
    assert box(page, "#details")["height"] > 1000  # its content, although it is closed
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator(".printed")).to_have_count(0)


def test_a_tap_opens_the_details_of_an_operation(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.drawing(unfenced, viewport=PHONE, has_touch=True, is_mobile=True)
    mark(page, 4).scroll_into_view_if_needed()
    spot = mark(page, 4).bounding_box()
    assert spot is not None

    page.touchscreen.tap(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] + 6)

    expect(page.locator("#tip")).to_contain_text("history.jsonl line")


def test_every_badge_can_be_reached_with_the_keyboard_and_says_what_it_is(page: Page) -> None:
    mark(page, 4).focus()

    expect(page.locator("#tip")).to_be_visible()
    assert "write" in (mark(page, 4).get_attribute("aria-label") or "")


def test_a_token_that_no_browser_counts_is_shown_exactly(visitor: Visitor, recorded_run: Unpack) -> None:
    folder = recorded_run("etcd-postgres-unfenced")
    beyond = 2**53
    for name in ("history.jsonl", "commits.jsonl"):
        lines = [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for line in lines:
            if line.get("token"):
                line["token"] += beyond
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    recheck(folder)
    page = visitor.drawing(folder / "report.html")
    drawing = data(page)
    i = drawing["scenes"][0]["accused"][0]

    mark(page, 4).focus()

    assert int(drawing["operations"]["token"][i]) > beyond
    expect(page.locator("#tip")).to_contain_text(f"token {drawing['operations']['token'][i]}")


@pytest.mark.parametrize(
    ("scheme", "viewport"),
    [
        pytest.param("light", DESK, id="light-1400"),
        pytest.param("dark", PHONE, id="dark-390", marks=pytest.mark.nightly),
        pytest.param("light", PHONE, id="light-390", marks=pytest.mark.nightly),
        pytest.param("dark", DESK, id="dark-1400", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("name", ["unfenced", *nightly("fenced", "quiet")])
def test_axe_finds_nothing_serious(
    visitor: Visitor, request: pytest.FixtureRequest, name: str, scheme: str, viewport: dict[str, int]
) -> None:
    page = visitor.drawing(request.getfixturevalue(name), viewport=viewport, color_scheme=scheme)
    page.locator("#details").evaluate("details => (details.open = true)")

    assert serious_findings(page) == []


LEAST_CONTRAST = 3  # of a mark, by WCAG 1.4.11
CONTRASTS = """() => {
  const light = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(".u-legend path")].map((mark) => {
    const ink = light(getComputedStyle(mark).stroke);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  });
}"""


def plotted(page: Page) -> None:
    drawn(page)
    page.locator("#details").evaluate("details => (details.open = true)")
    page.locator(".u-legend path").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_kind_of_call_has_a_shape_and_contrast(visitor: Visitor, unfenced: Path, scheme: str) -> None:
    page = visitor.open(unfenced, color_scheme=scheme).page
    plotted(page)

    kinds = page.locator(".u-legend tr:has(path) .u-label").all_text_contents()
    shapes = page.locator(".u-legend path").evaluate_all(
        "marks => marks.map((mark) => mark.getAttribute('d'))"
    )
    contrasts = page.evaluate(CONTRASTS)

    assert {"acquire", "write", "read"} <= set(kinds)
    assert len(set(shapes)) == len(kinds)
    assert min(contrasts) >= LEAST_CONTRAST


def test_the_points_of_the_plot_are_the_shapes_of_its_legend(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.open(unfenced, own_page=True).page
    page.add_init_script(
        """window.shapes = new Set();
        window.Path2D = class extends Path2D {
          constructor(shape) {
            super(shape);
            this.shape = shape;
          }
          addPath(path, ...where) {
            window.shapes.add(path.shape);
            super.addPath(path, ...where);
          }
        };"""
    )
    page.reload()
    plotted(page)

    shapes = page.locator(".u-legend path").evaluate_all(
        "marks => marks.map((mark) => mark.getAttribute('d'))"
    )

    assert set(page.evaluate("[...window.shapes]")) == set(shapes)

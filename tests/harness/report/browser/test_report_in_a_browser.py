"""A report in a browser, and the pictures of the documentation."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from harness import report
from harness.run.recheck import recheck
from tests.harness.report.browser.conftest import Visitor, drawn
from tests.support.recorded_runs import Unpack
from tests.support.report_folder import long_run
from tests.support.selection import nightly
from tools import pictures

AXIS, LOCK, LANE = 40, 28, 54  # pixels; as in timeline.js, with one line of leases


def pixels(page: Page, colour: str) -> Any:
    """How many pixels of the timeline have one of the style's colours, nearly."""
    return page.evaluate(
        """(name) => {
          const probe = document.createElement("i");
          probe.style.color = `var(--${name})`;
          document.body.append(probe);
          const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
          probe.remove();
          const canvas = document.getElementById("lanes");
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let count = 0;
          for (let i = 0; i < data.length; i += 4)
            count += wanted.every((value, c) => Math.abs(data[i + c] - value) < 8);
          return count;
        }""",
        colour,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["unfenced", "fenced", "quiet"])
@pytest.mark.parametrize("scheme", ["light", *nightly("dark")])
def test_a_report_opens_from_disk_without_errors_and_without_a_network(
    visitor: Visitor, request: pytest.FixtureRequest, name: str, scheme: str
) -> None:
    page = request.getfixturevalue(name)

    visit = visitor.open(page, color_scheme=scheme)
    drawn(visit.page)

    assert visit.complaints == []
    assert visit.requests == [page.as_uri()]


def test_the_verdict_says_that_a_planted_violation_was_this_runs_success(page: Page) -> None:
    expect(page.get_by_role("heading", level=1)).to_contain_text("Found as planned: ")
    expect(page.locator("section.answer.good .word")).to_contain_text("Verdict: invalid")


def test_the_sentence_is_in_view_before_anything_is_scrolled(page: Page) -> None:
    sentence = page.locator(".scene:visible .sentence")

    expect(sentence).to_contain_text("after the storage had accepted")
    expect(sentence).to_be_in_viewport()


@pytest.mark.slow
def test_the_answer_takes_little_of_the_first_screen(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.drawing(unfenced, viewport={"width": 1400, "height": 900})

    height, top = page.evaluate(
        """() => [document.querySelector(".answer").getBoundingClientRect().height,
                  document.getElementById("lanes").getBoundingClientRect().top]"""
    )

    assert height <= 300
    assert top < 600


def test_the_same_done_right_opens_where_it_is_linked(page: Page) -> None:
    page.get_by_role("link", name="etcd-postgres", exact=True).click()

    expect(page.locator("#twin")).to_be_visible()
    expect(page.locator("#twin")).to_be_in_viewport()


def test_the_stale_write_is_marked_in_the_drawing_and_in_the_table(page: Page) -> None:
    assert pixels(page, "stale") > 300
    expect(page.locator("tr.stale:visible")).to_contain_text("accepted stale")


def test_a_fence_that_held_shows_no_stale_write_but_the_refused_one(visitor: Visitor, fenced: Path) -> None:
    page = visitor.drawing(fenced)

    assert pixels(page, "stale") == 0
    assert pixels(page, "refused") > 100
    expect(page.locator(".scene:visible .sentence")).to_contain_text("the storage refused it, as it must")


def test_an_unexercised_run_is_shown_whole_and_is_no_pass(visitor: Visitor, quiet: Path) -> None:
    page = visitor.drawing(quiet)

    expect(page.get_by_text("This is not a pass")).to_be_visible()
    assert pixels(page, "write") > 100


def test_another_finding_can_be_chosen(page: Page) -> None:
    summaries = page.locator(".scene .sentence").all_text_contents()

    page.get_by_label("Which one").select_option("2")
    expect(page.locator(".scene:visible .sentence")).to_have_text(summaries[2])
    page.get_by_role("button", name="Previous").click()

    expect(page.locator(".scene:visible .sentence")).to_have_text(summaries[1])
    expect(page.locator(".scene:visible canvas").first).to_be_visible()


def test_hovering_shows_the_details_of_what_is_under_the_pointer(page: Page) -> None:
    figure = page.locator("#lanes")
    figure.scroll_into_view_if_needed()
    box = figure.bounding_box()
    assert box is not None
    drawing = json.loads(page.locator("#data").text_content() or "")["drawing"]
    hit = next(band["lane"] for band in drawing["bands"] if band["lane"] in drawing["scenes"][0]["lanes"])
    paused = drawing["scenes"][0]["lanes"].index(hit)
    pause = box["x"] + box["width"] * 0.35, box["y"] + AXIS + LOCK + LANE * paused + LANE - 4

    page.mouse.move(*pause)

    tip = page.locator("#tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("is stopped (state T)")


def test_every_event_can_be_reached_with_the_keyboard_alone(page: Page) -> None:
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "lanes":
            break

    page.keyboard.press("ArrowRight")
    first = page.locator("#spoken").text_content()
    page.keyboard.press("ArrowRight")
    second = page.locator("#spoken").text_content()

    assert first
    assert "history.jsonl line" in first
    assert second != first


def test_keys_zoom_and_return(page: Page) -> None:
    before = pixels(page, "stale")
    page.locator("#lanes").focus()

    page.keyboard.press("End")
    drawn(page)
    whole = pixels(page, "stale")
    page.keyboard.press("Home")
    drawn(page)

    assert whole != before
    assert pixels(page, "stale") == before


def test_without_javascript_every_finding_is_reported_in_words(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.open(unfenced, java_script_enabled=False).page
    findings = json.loads((unfenced.parent / "verdict.json").read_text())["findings"]

    expect(page.locator(".scene .sentence")).to_have_count(len(findings))
    expect(page.locator(".scene .sentence").last).to_be_visible()
    expect(page.locator("figure")).to_be_hidden()
    expect(page.get_by_text("The drawings need JavaScript")).to_be_visible()


def test_hostile_values_stay_text(visitor: Visitor, recorded_run: Unpack) -> None:
    folder = recorded_run("etcd-postgres-unfenced")
    attack = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    for name in ("history.jsonl", "commits.jsonl"):
        text = (folder / name).read_text()
        (folder / name).write_text(text.replace('"r0"', json.dumps(attack)))

    recheck(folder)

    visit = visitor.open(folder / "report.html")
    drawn(visit.page)
    visit.page.locator("#lanes").focus()
    for _ in range(5):
        visit.page.keyboard.press("ArrowRight")

    assert "owned" not in visit.page.title()
    assert visit.complaints == []
    assert visit.page.locator("img").count() == 0


@pytest.mark.nightly
def test_a_hundred_thousand_operations_do_not_freeze_the_page(visitor: Visitor, tmp_path: Path) -> None:
    page = report.write(long_run(tmp_path, operations=100_000))

    began = time.monotonic()
    visit = visitor.open(page)
    drawn(visit.page)
    opened = time.monotonic() - began
    visit.page.locator("#lanes").focus()
    frames = visit.page.evaluate(
        """async () => {
          const frame = () => new Promise(requestAnimationFrame);
          const took = [];
          for (let i = 0; i < 10; i += 1) {
            const began = performance.now();
            document.getElementById(i % 2 ? "zoom-in" : "zoom-out").click();
            await frame();
            await frame();
            took.push(performance.now() - began);
          }
          return took.sort((a, b) => a - b);
        }"""
    )

    assert visit.complaints == []
    assert opened < 10
    assert frames[5] < 500


PNG = b"\x89PNG"
SMALL = 250_000  # bytes


@pytest.mark.nightly
def test_each_picture_is_drawn_small_and_in_both_schemes(browser: Browser, tmp_path: Path) -> None:
    pictures.draw(browser, tmp_path)

    drawn = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert drawn.keys() == {file.name for file in pictures.PICTURES.iterdir()}
    assert all(picture.startswith(PNG) and len(picture) < SMALL for picture in drawn.values())
    assert len(set(drawn.values())) == len(drawn)

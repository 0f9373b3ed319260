"""The table of every operation: what its filter shows, and that the link keeps it."""

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from harness import report
from tests.harness.report.browser.conftest import Visitor
from tests.support.report_folder import long_run

pytestmark = pytest.mark.slow

AT, CLIENT, CALL, RESOURCE, TOKEN, VALUE, ANSWER, TOOK, LINES = range(9)


def operations(page: Page) -> Any:
    return json.loads(page.locator("#data").text_content() or "")["drawing"]["operations"]


def matches(page: Page) -> Locator:
    return page.locator("#matches")


def field(page: Page, name: str) -> Locator:
    return page.locator(f"#filter [name={name}]")


def column(page: Page, number: int) -> list[str]:
    return page.locator(f"#rows td:nth-child({number + 1})").all_text_contents()


def test_the_table_has_every_operation_of_the_run(page: Page, unfenced: Path) -> None:
    history = [json.loads(line) for line in (unfenced.parent / "history.jsonl").read_text().splitlines()]
    calls = sum(event.get("type") == "invoke" for event in history)

    expect(matches(page)).to_have_text(f"{calls:,} of {calls:,} operations match; shown: 1 to 20")


def test_a_filter_shows_what_matches_as_its_link_does(page: Page, visitor: Visitor, unfenced: Path) -> None:
    field(page, "client").select_option("client 1")
    field(page, "call").select_option("write")
    field(page, "resource").select_option("r0")
    said, link = matches(page).text_content(), page.evaluate("location.hash")
    shared = visitor.open(unfenced, fragment=link).page

    assert set(column(page, CLIENT)) == {"client 1"}
    assert set(column(page, CALL)) == {"write"}
    assert set(column(page, RESOURCE)) == {"r0"}
    assert link == "#operations?client=client+1&call=write&resource=r0"
    expect(matches(shared)).to_have_text(said or "")
    expect(shared.locator("#operations")).to_be_in_viewport()


def test_a_token_is_the_whole_token_and_a_text_is_anywhere(page: Page) -> None:
    token = next(filter(None, operations(page)["token"]))

    field(page, "token").fill(token)
    tokens = set(column(page, TOKEN))
    page.get_by_role("button", name="Clear").click()
    field(page, "text").fill("lines 2,")
    expect(matches(page)).to_contain_text("1 of")

    assert tokens == {token}
    assert column(page, LINES)[0].startswith("lines 2,")


def test_of_a_fault_what_was_open_meanwhile_is_shown(page: Page) -> None:
    drawing = json.loads(page.locator("#data").text_content() or "")["drawing"]
    ops, pause = drawing["operations"], drawing["bands"][0]
    spans = list(zip(accumulate(ops["from"]), accumulate(ops["to"]), strict=True))
    open_meanwhile = sum(start <= pause["to"] and end >= pause["from"] for start, end in spans)
    shown = {}

    choices = [
        text for text in field(page, "fault").locator("option").all_text_contents() if "during the" in text
    ]
    for choice in ("during a fault", "without a fault", choices[0]):
        field(page, "fault").select_option(choice)
        shown[choice] = int((matches(page).text_content() or "").split(" of ")[0].replace(",", ""))

    assert choices[0].startswith(f"during the pause of {pause['target']} at ")
    assert shown[choices[0]] == open_meanwhile
    assert shown["during a fault"] + shown["without a fault"] == len(spans)


def test_pages_of_the_table_are_turned_with_the_keyboard(page: Page) -> None:
    first = column(page, LINES)
    expect(page.get_by_role("button", name="Earlier")).to_be_disabled()

    field(page, "text").focus()
    for _ in range(2):  # past "Clear", and "Earlier" is disabled
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(matches(page)).to_contain_text("shown: 21 to 40")
    assert not set(first) & set(column(page, LINES))


def test_a_filter_without_a_match_says_so(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.open(unfenced, fragment="#operations?text=no+such+words").page

    expect(matches(page)).to_contain_text("0 of")
    expect(page.locator("#rows tr")).to_have_count(0)


def test_a_link_to_a_finding_keeps_the_table_as_it_is(page: Page) -> None:
    page.get_by_role("button", name="Later").click()

    page.evaluate("location.hash = '#finding-2'")

    expect(page.locator("#finding-2")).to_be_visible()
    expect(matches(page)).to_contain_text("shown: 21 to 40")


def test_a_hundred_thousand_operations_are_filtered_at_once(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.open(report.write(long_run(tmp_path, operations=100_000, f="read"))).page

    took = page.evaluate(
        """() => {
          const text = document.querySelector("#filter [name=text]");
          return ["v0", "client 7"].map((words) => {
            const began = performance.now();
            text.value = words;
            text.dispatchEvent(new Event("input", { bubbles: true }));
            return performance.now() - began;
          });
        }"""
    )

    expect(matches(page)).to_contain_text("10,000 of 100,000 operations match")
    assert max(took) < 2_000, took  # ms

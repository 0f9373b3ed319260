"""The page of a bench, in a browser."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from harness.bench.document import HandOverDocument, StaleHoldDocument
from harness.bench.page import render
from harness.bench.requirements import judged
from harness.bench.tables import lines, signed
from harness.spec.bench import BenchSpec
from tests.support.bench_documents import bench, interval, rounds, series
from tests.support.chromium import chromium, serious_findings

HOSTILE = "<img src=x onerror=alert(1)>"
FOUND = bench(
    series(),
    series(64, 64, offered=1000.0),
    series(operation="write", fencing="upsert", error=HOSTILE),
    rounds=[rounds(0.8, 1, 1.2)],
    hand_overs=[HandOverDocument(after="stop", samples=[2000.0, 2100.0], median=2050.0)],
    stale_holds=[StaleHoldDocument(believed=3.25, writes=2)],
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.mark.browser
def test_the_page_draws_its_curves_without_an_error(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "bench.html"
    file.write_text(render(judged(FOUND, BenchSpec(acquire_rate=1))))
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))

    page.goto(file.as_uri())

    assert page.locator("h1").inner_text() == "Bench: 1 requirement met"
    assert page.locator(".chart canvas").count() == 3
    assert page.locator(".bench-table").count() == 5
    assert page.locator("img").count() == 0  # a server's error is text
    assert serious_findings(page) == []
    assert said == []


def test_a_page_without_figures_is_a_page() -> None:
    html = render(bench())

    assert "Measured, without requirements" in html
    assert json.loads(html.partition('id="charts">')[2].partition("</script>")[0]) == []


def test_a_lock_that_never_grants_has_no_curve() -> None:
    failing = series(p99=interval(None, None, None))
    own = structs.replace(failing.own, p50=None, curve=[])
    html = render(bench(structs.replace(failing, latencies={"acquire": own})))

    assert "Throughput against latency" not in html


def test_a_sentence_with_a_full_stop_gets_no_second_one() -> None:
    html = render(bench(remarks=["the lock was not granted: Connection refused."]))

    assert "<p>The lock was not granted: Connection refused.</p>" in html


@pytest.mark.parametrize(
    ("value", "said"), [(-0.0004, "+0.000 ms"), (-0.0006, "-0.001 ms"), (1.5, "+1.500 ms")]
)
def test_a_difference_has_its_sign_unless_it_is_none(value: float, said: str) -> None:
    assert signed(value) == said


def test_the_lines_have_a_row_for_each_load() -> None:
    shown = [line.split() for line in lines(FOUND)]

    assert [
        "8",
        "clients,",
        "each",
        "its",
        "own",
        "resource",
        "1,000",
        "1.00",
        "ms",
        "1.00",
        "ms",
        "5.00",
        "ms",
        "-",
        "9.00",
        "ms",
    ] in shown
    assert any(
        "64 clients, each its own resource, 1,000 a second offered" in " ".join(each) for each in shown
    )
    assert ["was", "stopped", "2,050", "ms", "2,000", "ms", "2,100", "ms"] in shown
    assert any("for up to 3.25 ms, and sent up to 2 writes" in " ".join(each) for each in shown)

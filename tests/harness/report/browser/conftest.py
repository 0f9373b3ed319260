"""A real browser for the reports: Debian's chromium, without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from harness import report
from tests.support.sample_run import write_sample

_CHROMIUM = os.environ.get("FENCEPOST_CHROMIUM") or shutil.which("chromium")
_SWITCHES = [
    "--no-sandbox",  # it will not start as root otherwise
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@dataclass
class Visit:
    """An open report, and everything that it did beside being looked at."""

    page: Page
    complaints: list[str] = field(default_factory=list)  # console errors and uncaught ones
    requests: list[str] = field(default_factory=list)


class Visitor:
    """Opens reports from disk, as a user does."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser

    def open(self, report: Path, *, fragment: str = "", **context: object) -> Visit:
        """Load a report; `context` goes to the browser (`color_scheme`, `viewport`, …)."""
        page = self.browser.new_page(**({"viewport": {"width": 1280, "height": 900}} | context))
        visit = Visit(page)
        page.on("pageerror", lambda error: visit.complaints.append(str(error)))
        page.on("console", lambda message: self._hear(visit, message.type, message.text))
        page.on("request", lambda request: visit.requests.append(request.url))
        page.goto(report.resolve().as_uri() + fragment)
        return visit

    @staticmethod
    def _hear(visit: Visit, kind: str, text: str) -> None:
        if kind in {"error", "warning"}:
            visit.complaints.append(text)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if _CHROMIUM is None:
        if os.environ.get("FENCEPOST_REQUIRE_BROWSER"):
            pytest.fail("FENCEPOST_REQUIRE_BROWSER is set and there is no chromium on PATH")
        pytest.skip("no chromium on PATH: apt-get install --no-install-recommends chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    visitor = Visitor(browser)
    yield visitor
    for context in browser.contexts:
        context.close()


def drawn(page: Page) -> None:
    """Wait until the timeline was painted."""
    page.wait_for_function("document.getElementById('lanes').height > 100")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.fixture(scope="session")
def unfenced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(write_sample(tmp_path_factory.mktemp("unfenced")))


@pytest.fixture(scope="session")
def fenced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(write_sample(tmp_path_factory.mktemp("fenced"), fenced=True))


@pytest.fixture(scope="session")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("quiet")
    return report.write(write_sample(folder, fenced=True, pauses=False, duration=3_000_000_000))

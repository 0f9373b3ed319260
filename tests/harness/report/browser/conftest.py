"""A real browser for the reports."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request

from harness.run.recheck import recheck
from tests.support.recorded_runs import Unpack, unpack


@dataclass
class Visit:
    """An open report, and everything that it did beside being looked at."""

    page: Page
    complaints: list[str] = field(default_factory=list)  # console errors and uncaught ones
    requests: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("pageerror", self._fail)
        self.page.on("console", self._hear)
        self.page.on("request", self._ask)

    def leave(self) -> None:
        """Empty the page for the next visit."""
        self.page.remove_listener("pageerror", self._fail)
        self.page.remove_listener("console", self._hear)
        self.page.remove_listener("request", self._ask)
        self.page.mouse.move(0, 0)
        self.page.goto("about:blank")

    def _fail(self, error: Error) -> None:
        self.complaints.append(str(error))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _ask(self, request: Request) -> None:
        self.requests.append(request.url)


class Visitor:
    """Opens reports from disk, as a user does.

    A page is kept for the next visit with the same options: loading a report into it takes
    half the time of a new one.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._idle: dict[str, Page] = {}
        self._visits: list[tuple[str | None, Visit]] = []

    def open(self, report: Path, *, fragment: str = "", own_page: bool = False, **context: object) -> Visit:
        """Load a report; `context` goes to the browser (`color_scheme`, `viewport`, …).

        A test that changes the page beyond what it shows, as by a script for each load, needs its own page.
        """
        options = {"viewport": {"width": 1280, "height": 900}} | context
        key = None if own_page else repr(sorted(options.items()))
        page = self._idle.pop(key, None) if key else None
        visit = Visit(page or self.browser.new_page(**options))
        self._visits.append((key, visit))
        visit.listen()
        visit.page.goto(report.resolve().as_uri() + fragment)
        return visit

    def drawing(self, report: Path, **context: Any) -> Page:
        """Load a report, and wait until its drawing is painted."""
        page = self.open(report, **context).page
        drawn(page)
        return page

    def leave(self) -> None:
        """End the visits of a test."""
        for key, visit in self._visits:
            if key is None or key in self._idle:
                visit.page.context.close()
            else:
                visit.leave()
                self._idle[key] = visit.page
        self._visits.clear()


@pytest.fixture(scope="session")
def only_visitor(browser: Browser) -> Visitor:
    return Visitor(browser)


@pytest.fixture
def visitor(only_visitor: Visitor) -> Iterator[Visitor]:
    yield only_visitor
    only_visitor.leave()


def drawn(page: Page) -> None:
    """Wait until the timeline was painted."""
    page.wait_for_function("document.getElementById('lanes').height > 100")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.fixture(scope="session")
def unfenced(reported: Unpack) -> Path:
    return reported("etcd-postgres-unfenced")


@pytest.fixture
def page(visitor: Visitor, unfenced: Path) -> Page:
    """The report of the run whose storage accepted stale writes, with its drawing."""
    return visitor.drawing(unfenced)


@pytest.fixture(scope="session")
def fenced(reported: Unpack) -> Path:
    return reported("etcd-postgres")


@pytest.fixture(scope="session")
def quiet(reported: Unpack) -> Path:
    return reported("not-exercised")


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Unpack:
    """Give the report of a recorded run, judged now, and only once."""

    @cache
    def report_of(name: str) -> Path:
        folder = unpack(name, tmp_path_factory.mktemp(name))
        recheck(folder)
        return folder / "report.html"

    return report_of

"""Debian's chromium, without a network, and the accessibility violations that axe-core finds in its pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

_CHROMIUM = os.environ.get("FENCEPOST_CHROMIUM") or shutil.which("chromium")
_SWITCHES = [
    "--no-sandbox",  # it will not start as root otherwise
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start it, or skip the test where there is none."""
    if _CHROMIUM is None:
        if os.environ.get("FENCEPOST_REQUIRE_BROWSER"):
            pytest.fail("FENCEPOST_REQUIRE_BROWSER is set and there is no chromium on PATH")
        pytest.skip("no chromium on PATH: apt-get install --no-install-recommends chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=_SWITCHES)
        yield browser
        browser.close()


def serious_findings(page: Page) -> list[tuple[str, list[str]]]:
    """Return the rules that a page breaks seriously, with the elements."""
    found = Axe().run(page).response["violations"]
    return [
        (each["id"], [node["html"][:120] for node in each["nodes"]])
        for each in found
        if each["impact"] in {"serious", "critical"}
    ]

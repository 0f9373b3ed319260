"""Accessibility violations that axe-core finds in a page."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


def serious_findings(page: Page) -> list[tuple[str, list[str]]]:
    """Return the rules that a page breaks seriously, with the elements."""
    found = Axe().run(page).response["violations"]
    return [
        (each["id"], [node["html"][:120] for node in each["nodes"]])
        for each in found
        if each["impact"] in {"serious", "critical"}
    ]

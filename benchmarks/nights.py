"""How large the page of a night is, and how fast Chromium opens it.

    python -m benchmarks.nights --nights 30 --runs 1000

The runs are generated; the page lists all of them. A page is open once it has been laid out and painted.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.generated_nights import generate
from harness.campaign import outputs
from harness.campaign.results import Results

_PAINTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def main() -> None:
    """Print a row of a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="keep the nights there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        night = generate(folder, nights=arguments.nights, runs=arguments.runs)
        page = night.path / outputs.PAGE
        began = time.perf_counter()
        outputs.write(night, Results(folder / "nights.db"), allow_unknown=False)
        wrote = time.perf_counter() - began
        print("| nights | runs | page | all outputs written in | opened in |")
        print("|--:|--:|--:|--:|--:|")
        print(
            f"| {arguments.nights} | {arguments.runs:,} | {page.stat().st_size / 1e6:.2f} MB"
            f" | {wrote:.2f} s | {_opened(page, arguments.times)} |"
        )


def _opened(page: Path, times: int) -> str:
    """Return minimum / median / maximum of several first visits."""
    chromium = os.environ.get("FENCEPOST_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        seconds = sorted(_seconds(browser, page) for _ in range(times))
        browser.close()
    shown = (seconds[0], statistics.median(seconds), seconds[-1])
    return " / ".join(f"{each * 1000:.0f}" for each in shown) + " ms"


def _seconds(browser: Browser, page: Path) -> float:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    tab = context.new_page()
    began = time.perf_counter()
    tab.goto(page.resolve().as_uri())
    tab.evaluate(_PAINTED)
    took = time.perf_counter() - began
    context.close()
    return took


if __name__ == "__main__":
    main()

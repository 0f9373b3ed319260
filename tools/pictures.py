"""Draw the pictures of the documentation: what the pages of recorded runs and of a generated night show.

    make pictures

Writes two files of each picture to `docs/pictures/`, `NAME-light.png` and `NAME-dark.png`, with a headless
Chromium, which it looks for on PATH or under FENCEPOST_CHROMIUM.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from benchmarks.generated_nights import generate
from harness.campaign import outputs
from harness.run.recheck import recheck

ROOT = Path(__file__).parents[1]
RECORDINGS = ROOT / "tests/histories/zoo"
PICTURES = ROOT / "docs/pictures"
RUNS = {  # picture -> the recorded run whose first finding, or first refused write, it shows
    "stale-write": "etcd-postgres-unfenced",
    "refused-write": "etcd-postgres",
    "early-grant": "get-then-del-unlock",
    "lost-update": "etcd-postgres-append",
}
NIGHT = "night"
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
VIEWPORT = ViewportSize(width=900, height=900)  # about what a README has room for
SCALE = 2  # pixels of the picture for one of the page


def main() -> None:
    """Draw the pictures of the documentation."""
    chromium = os.environ.get("FENCEPOST_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        raise SystemExit("no chromium on PATH: apt-get install --no-install-recommends chromium")
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        draw(browser, PICTURES)
        browser.close()


def draw(browser: Browser, folder: Path) -> None:
    """Draw each picture into a folder."""
    with tempfile.TemporaryDirectory() as made:
        pages = {name: _report(recording, Path(made)) for name, recording in RUNS.items()}
        night = generate(Path(made), nights=12, runs=200).path / outputs.PAGE
        for scheme in SCHEMES:
            for name, page in pages.items():
                (folder / f"{name}-{scheme}.png").write_bytes(_drawing(browser, page, scheme))
            (folder / f"{NIGHT}-{scheme}.png").write_bytes(_matrix(browser, night, scheme))


def _report(recording: str, runs: Path) -> Path:
    """Unpack a recorded run, and judge it again."""
    with tarfile.open(RECORDINGS / f"{recording}.tar.xz") as archive:
        archive.extractall(runs, filter="data")
        folder = runs / Path(archive.getnames()[0]).parent
    recheck(folder)
    return folder / "report.html"


def _drawing(browser: Browser, report: Path, scheme: Scheme) -> bytes:
    """The drawing that a report opens with, as a PNG."""
    with browser.new_page(viewport=VIEWPORT, device_scale_factor=SCALE, color_scheme=scheme) as page:
        page.goto(report.as_uri())
        page.wait_for_function("document.getElementById('lanes').height > 100")
        return page.locator("#lanes").screenshot()


def _matrix(browser: Browser, page_of_a_night: Path, scheme: Scheme) -> bytes:
    """The matrix of a night, as a PNG."""
    with browser.new_page(viewport=VIEWPORT, device_scale_factor=SCALE, color_scheme=scheme) as page:
        page.goto(page_of_a_night.as_uri())
        return page.locator("section:has(#matrix)").screenshot()


if __name__ == "__main__":
    main()

"""Draw the pictures of the documentation: what a report shows of a recorded stale write.

    make pictures

Writes `docs/pictures/stale-write-light.png` and `-dark.png` with a headless Chromium, which it looks for on
PATH or under FENCEPOST_CHROMIUM.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from harness.run.recheck import recheck

ROOT = Path(__file__).parents[1]
RECORDING = ROOT / "tests/histories/zoo/etcd-postgres-unfenced.tar.xz"
PICTURES = ROOT / "docs/pictures"
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
    with tempfile.TemporaryDirectory() as runs:
        report = _report(Path(runs))
        for scheme in SCHEMES:
            (folder / f"stale-write-{scheme}.png").write_bytes(_drawing(browser, report, scheme))


def _report(runs: Path) -> Path:
    """Unpack the recorded run, and judge it again."""
    with tarfile.open(RECORDING) as archive:
        archive.extractall(runs, filter="data")
        folder = runs / Path(archive.getnames()[0]).parent
    recheck(folder)
    return folder / "report.html"


def _drawing(browser: Browser, report: Path, scheme: Scheme) -> bytes:
    """The drawing of the first finding, as a PNG."""
    page = browser.new_page(viewport=VIEWPORT, device_scale_factor=SCALE, color_scheme=scheme)
    page.goto(report.as_uri())
    page.wait_for_function("document.getElementById('lanes').height > 100")
    picture = page.locator("#lanes").screenshot()
    page.close()
    return picture


if __name__ == "__main__":
    main()

"""The plot of how long calls took: its kinds of calls look different, also without colours."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.harness.report.browser.conftest import Visitor, drawn

pytestmark = pytest.mark.slow

LEAST_CONTRAST = 3  # of a mark, by WCAG 1.4.11
CONTRASTS = """() => {
  const light = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(".u-legend path")].map((mark) => {
    const ink = light(getComputedStyle(mark).stroke);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  });
}"""


def plotted(page: Page) -> None:
    drawn(page)
    page.locator("#details").evaluate("details => (details.open = true)")
    page.locator(".u-legend path").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_kind_of_call_has_its_own_shape_and_enough_contrast(
    visitor: Visitor, unfenced: Path, scheme: str
) -> None:
    page = visitor.open(unfenced, color_scheme=scheme).page
    plotted(page)

    kinds = page.locator(".u-legend tr:has(path) .u-label").all_text_contents()
    shapes = page.locator(".u-legend path").evaluate_all(
        "marks => marks.map((mark) => mark.getAttribute('d'))"
    )
    contrasts = page.evaluate(CONTRASTS)

    assert {"acquire", "write", "read"} <= set(kinds)
    assert len(set(shapes)) == len(kinds)
    assert min(contrasts) >= LEAST_CONTRAST


def test_the_points_of_the_plot_are_the_shapes_of_its_legend(visitor: Visitor, unfenced: Path) -> None:
    page = visitor.open(unfenced, own_page=True).page
    page.add_init_script(
        """window.shapes = new Set();
        window.Path2D = class extends Path2D {
          constructor(shape) {
            super(shape);
            this.shape = shape;
          }
          addPath(path, ...where) {
            window.shapes.add(path.shape);
            super.addPath(path, ...where);
          }
        };"""
    )
    page.reload()
    plotted(page)

    shapes = page.locator(".u-legend path").evaluate_all(
        "marks => marks.map((mark) => mark.getAttribute('d'))"
    )

    assert set(page.evaluate("[...window.shapes]")) == set(shapes)

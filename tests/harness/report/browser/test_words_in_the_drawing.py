"""Words in the drawing: none covers another, nor a step number, on any screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.harness.report.browser.conftest import Visitor, drawn

RECORD_WORDS = """window.written = [];
const { fillText, roundRect } = CanvasRenderingContext2D.prototype;
CanvasRenderingContext2D.prototype.fillText = function (words, x, y, ...rest) {
  const wide = this.measureText(words).width;
  const left = this.textAlign === "center" ? x - wide / 2 : this.textAlign === "right" ? x - wide : x;
  const high = parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * 0.72;
  if (this.canvas.id === "lanes") window.written.push([words, left, left + wide, y - high / 2, y + high / 2]);
  return fillText.call(this, words, x, y, ...rest);
};
CanvasRenderingContext2D.prototype.roundRect = function (x, y, wide, high, ...rest) {
  if (this.canvas.id === "lanes") window.written.push(["step number", x, x + wide, y, y + high]);
  return roundRect.call(this, x, y, wide, high, ...rest);
};"""


@dataclass(frozen=True)
class Patch:
    """What is written, and where: in pixels."""

    words: str
    left: float
    right: float
    top: float
    bottom: float

    def covers(self, other: Patch) -> bool:
        return (
            self.left + 1 < other.right
            and other.left + 1 < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )


def written(page: Page) -> list[Patch]:
    """Everything that was written; the same once, and a badge without its border and its number."""
    patches = {Patch(*each): None for each in page.evaluate("window.written")}
    badges = [each for each in patches if each.words == "step number"]
    inside = [each for each in patches if any(within(each, badge) for badge in badges if badge != each)]
    return [each for each in patches if each not in inside]


def within(inner: Patch, outer: Patch) -> bool:
    return (
        outer.left <= inner.left
        and inner.right <= outer.right
        and outer.top <= inner.top
        and inner.bottom <= outer.bottom
    )


def scenes(page: Page, report: Path) -> Iterator[int]:
    """Show each finding in turn, as a fresh page."""
    for scene in range(1, max(1, page.locator("#scene option").count()) + 1):
        page.goto(f"{report.resolve().as_uri()}?{scene}#finding-{scene}")
        drawn(page)
        yield scene


@pytest.mark.parametrize(
    "width", [pytest.param(1280, marks=pytest.mark.slow), 390, pytest.param(320, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "name",
    [
        "etcd-postgres-unfenced",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "etcd-postgres",
                "get-then-del-unlock",
                "late-renewal-taken-as-valid-twin",
                "redis-without-persistence",
                "redlock-postgres-clock",
                "uuid-token",
            )
        ),
    ],
)
def test_no_words_cover_other_words_or_a_step_number(
    visitor: Visitor, reported: Callable[[str], Path], name: str, width: int
) -> None:
    report = reported(name)
    page = visitor.open(report, own_page=True, viewport={"width": width, "height": 800}).page
    page.add_init_script(RECORD_WORDS)

    for scene in scenes(page, report):
        seen = written(page)
        covered = [(one, other) for one, other in combinations(seen, 2) if one.covers(other)]

        assert any(each.words == "step number" for each in seen)
        assert covered == [], scene
